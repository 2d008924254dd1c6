//! What was measured, for people and for programs.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::clock::Elapsed;
use crate::frame::median;

/// Figures of the data path on one core.
#[derive(Clone, Debug, Serialize)]
pub struct DataPathReport {
    /// The number of clips of the corpus.
    pub clips: usize,
    /// Their length together, in seconds.
    pub audio_seconds: f64,
    /// The same in samples, at the rate of the features.
    pub samples: u64,
    /// The number of tokens of their texts.
    pub text_tokens: u64,
    /// The number of bucket shapes of the schedule.
    pub buckets: usize,
    /// The padding of the batches filled, empty rows included, in percent.
    pub padding_percent: f64,
    /// The number of times each stage was measured.
    pub passes: usize,
    /// Which time the figures per core are of.
    pub clock: &'static str,
    /// The time for decoding alone, in milliseconds for ten seconds of audio.
    pub wav_decode_ms_per_10s: f64,
    /// The time for the log-mel alone.
    pub mel_ms_per_10s: f64,
    /// The time for decoding and log-mel.
    pub decode_mel_ms_per_10s: f64,
    /// The time for the whole host stage.
    pub host_stage_ms_per_10s: f64,
    /// The clips that the host stage fills in a second on one core.
    pub host_stage_clips_per_core_s: f64,
    /// Every stage with its spread.
    pub stages: Vec<TimedStage>,
}

/// Figures of one stage.
#[derive(Clone, Debug, Serialize)]
pub struct TimedStage {
    /// What was done in it.
    pub name: &'static str,
    /// The figures by the CPU time of the thread, where the system tells it.
    pub cpu: Option<Figures>,
    /// The figures by the wall clock, neighbours included.
    pub wall: Figures,
}

/// Figures by one clock; medians but for the best.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// The milliseconds for ten seconds of audio.
    pub ms_per_10s: f64,
    /// The same for the fastest pass.
    pub best_ms_per_10s: f64,
    /// The clips done in a second.
    pub clips_per_s: f64,
    /// The seconds of audio done in a second.
    pub x_real_time: f64,
}

/// How much one pass did, and how long it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) clips: f64,
    pub(super) audio_seconds: f64,
    pub(super) elapsed: Elapsed,
}

impl TimedStage {
    pub(super) fn of(name: &'static str, passes: &[Pass]) -> Self {
        let cpu: Option<Vec<Duration>> = passes.iter().map(|pass| pass.elapsed.cpu).collect();
        let wall: Vec<Duration> = passes.iter().map(|pass| pass.elapsed.wall).collect();
        Self {
            name,
            cpu: cpu.map(|times| Figures::of(passes, &times)),
            wall: Figures::of(passes, &wall),
        }
    }

    /// Returns the figures by CPU time, or by the wall clock where that is all there is.
    pub(crate) fn per_core(&self) -> &Figures {
        self.cpu.as_ref().unwrap_or(&self.wall)
    }
}

impl Figures {
    fn of(passes: &[Pass], times: &[Duration]) -> Self {
        // Seconds for each second of audio: passes differ in how much they did.
        let costs: Vec<f64> = passes
            .iter()
            .zip(times)
            .map(|(pass, time)| time.as_secs_f64() / pass.audio_seconds)
            .collect();
        let best = costs.iter().copied().fold(f64::NAN, f64::min);
        let median = median(costs);
        let (clips, audio) = passes.iter().fold((0.0, 0.0), |(clips, audio), pass| {
            (clips + pass.clips, audio + pass.audio_seconds)
        });
        Self {
            ms_per_10s: median * 1e4,
            best_ms_per_10s: best * 1e4,
            clips_per_s: clips / audio / median,
            x_real_time: 1.0 / median,
        }
    }
}

impl fmt::Display for DataPathReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clips, {:.1} s of audio, {} text tokens, {} buckets, {:.1} % padding",
            self.clips, self.audio_seconds, self.text_tokens, self.buckets, self.padding_percent
        )?;
        writeln!(
            f,
            "{} passes on one thread, median; per core: {}\n",
            self.passes, self.clock
        )?;
        writeln!(
            f,
            "{:<30} {:>12} {:>9} {:>14} {:>12} {:>16}",
            "", "ms per 10 s", "best", "clips/core-s", "x real time", "ms per 10 s wall"
        )?;
        for stage in &self.stages {
            let figures = stage.per_core();
            writeln!(
                f,
                "{:<30} {:>12.3} {:>9.3} {:>14.0} {:>12.0} {:>16.3}",
                stage.name,
                figures.ms_per_10s,
                figures.best_ms_per_10s,
                figures.clips_per_s,
                figures.x_real_time,
                stage.wall.ms_per_10s
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(audio_seconds: f64, wall: u64, cpu: Option<u64>) -> Pass {
        Pass {
            clips: audio_seconds / 5.0,
            audio_seconds,
            elapsed: Elapsed {
                wall: Duration::from_millis(wall),
                cpu: cpu.map(Duration::from_millis),
            },
        }
    }

    #[test]
    fn figures_are_medians_per_second_of_audio() {
        let passes = [
            pass(100.0, 30, Some(10)),
            pass(200.0, 40, Some(40)),
            pass(100.0, 90, Some(30)),
        ];
        let stage = TimedStage::of("x", &passes);
        let cpu = stage.per_core();
        assert!((cpu.ms_per_10s - 2.0).abs() < 1e-9, "{cpu:?}");
        assert!((cpu.best_ms_per_10s - 1.0).abs() < 1e-9, "{cpu:?}");
        assert!((cpu.clips_per_s - 1000.0).abs() < 1e-6, "{cpu:?}");
        assert!((cpu.x_real_time - 5000.0).abs() < 1e-6, "{cpu:?}");
        assert!((stage.wall.ms_per_10s - 3.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_cpu_clock_the_wall_stands_in() {
        let stage = TimedStage::of("x", &[pass(10.0, 5, Some(1)), pass(10.0, 5, None)]);
        assert!(stage.cpu.is_none());
        assert!((stage.per_core().ms_per_10s - 5.0).abs() < 1e-9);
    }
}
