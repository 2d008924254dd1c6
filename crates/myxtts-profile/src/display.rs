//! The report as people read it.

use std::fmt;

use crate::occupancy::RingUse;
use crate::overlap::Overlap;
use crate::profile::Profile;
use crate::spread::Spread;
use crate::stages::StageTimes;

fn ms(seconds: f64) -> String {
    let ms = seconds * 1e3;
    match ms {
        _ if ms >= 100.0 => format!("{ms:.0}"),
        _ if ms >= 1.0 => format!("{ms:.1}"),
        _ => format!("{ms:.3}"),
    }
}

/// Writes a line of the table: a name, five figures, and what comes after.
fn line(f: &mut fmt::Formatter<'_>, name: &str, times: &Spread, after: &str) -> fmt::Result {
    let figures = [
        times.mean_s,
        times.std_s,
        times.p50_s,
        times.p95_s,
        times.p99_s,
    ];
    write!(f, "  {name:<22}")?;
    for figure in figures {
        write!(f, " {:>8}", ms(figure))?;
    }
    writeln!(f, "  {after}")
}

fn table_head(f: &mut fmt::Formatter<'_>, name: &str, after: &str) -> fmt::Result {
    writeln!(
        f,
        "\n{name:<24} {:>8} {:>8} {:>8} {:>8} {:>8}  {after}",
        "mean", "std", "p50", "p95", "p99"
    )
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stages.is_empty() {
            return writeln!(f, "No step was measured.");
        }
        write!(f, "{} steps in {:.2} s", self.steps, self.wall_s)?;
        match self.accumulation {
            1 => writeln!(f)?,
            batches => writeln!(f, ", {batches} batches each")?,
        }
        step_table(f, self)?;
        table_head(f, "batch by stage, in ms", "share of its threads")?;
        for stage in &self.stages {
            stage_lines(f, stage)?;
        }
        writeln!(
            f,
            "\nThe model's threads account for {:.1} % of the wall time.",
            self.accounted_pct
        )?;
        if let Some(slowest) = self.slowest {
            writeln!(f, "The slowest stage is the {slowest} stage.")?;
        }
        write!(f, "{}", self.overlap)?;
        match &self.oscillation {
            Some(oscillation) => write!(f, "{oscillation}")?,
            None => writeln!(f, "It takes eight steps or more to tell how even they are.")?,
        }
        ring_table(f, &self.rings)
    }
}

/// Writes the times of the step and of its parts.
fn step_table(f: &mut fmt::Formatter<'_>, profile: &Profile) -> fmt::Result {
    table_head(f, "step, in ms", "share")?;
    line(f, "whole step", &profile.step, "100.0 %")?;
    for part in &profile.parts {
        let share = format!("{:>5.1} %", part.share_pct);
        line(f, &format!("  {}", part.part), &part.times, &share)?;
    }
    Ok(())
}

/// Writes the work of a stage, and its waiting if there was any.
fn stage_lines(f: &mut fmt::Formatter<'_>, stage: &StageTimes) -> fmt::Result {
    let lived = stage.busy_s + stage.wait_in_s + stage.wait_out_s + stage.idle_s;
    let share = |seconds: f64| match lived > 0.0 {
        true => format!("{:>5.1} %", 100.0 * seconds / lived),
        false => "    -".to_owned(),
    };
    let threads = match stage.threads {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    let busy = format!("{} of {threads}", share(stage.busy_s));
    line(f, &format!("{} work", stage.stage), &stage.busy, &busy)?;
    let waits = [
        ("waits for input", &stage.wait_in, stage.wait_in_s),
        ("waits for room", &stage.wait_out, stage.wait_out_s),
    ];
    for (kind, times, seconds) in waits {
        // The model never waits for room, and others may not either.
        if seconds > 0.0 {
            line(f, &format!("  {kind}"), times, &share(seconds))?;
        }
    }
    Ok(())
}

/// Writes how full the rings between the stages were.
fn ring_table(f: &mut fmt::Formatter<'_>, rings: &[RingUse]) -> fmt::Result {
    writeln!(
        f,
        "\n{:<16} {:>6} {:>6} {:>6} {:>8}  over time",
        "ring, in batches", "mean", "least", "most", "empty"
    )?;
    for ring in rings {
        writeln!(
            f,
            "  {:<14} {:>6.1} {:>6} {:>6} {:>6.1} %  {}",
            format!("{} {}", ring.ring, ring.number),
            ring.mean,
            ring.least,
            ring.most,
            ring.empty_pct,
            bars(&ring.over_time)
        )?;
    }
    Ok(())
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [serial, best, was] =
            [self.one_after_another_s, self.at_best_s, self.measured_s].map(ms);
        match self.achieved_pct {
            Some(achieved) => writeln!(
                f,
                "Overlap: {achieved:.0} % of what is possible. A batch takes {was} ms; its stages one \
                 after another would take {serial} ms, the slowest alone {best} ms."
            ),
            None => writeln!(
                f,
                "Overlap: there is next to nothing to overlap. A batch takes {was} ms, and its slowest \
                 stage {best} ms of the {serial} ms of all stages."
            ),
        }
    }
}

/// Draws a curve in one line of text, from zero to the largest value.
fn bars(values: &[f64]) -> String {
    const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 8"
        )]
        let level = if most > 0.0 {
            (value / most * 8.0).round() as usize
        } else {
            0
        };
        LEVELS.get(level).copied().unwrap_or('█')
    };
    values.iter().map(bar).collect()
}
