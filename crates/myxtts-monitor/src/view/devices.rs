//! The devices: what they do, and why something cannot be known.

use ratatui::text::{Line, Span};

use super::format::{bars, duration, reading, wrapped};
use super::theme::Theme;
use crate::reading::Reading;
use crate::sample::DeviceSample;
use crate::state::State;
use crate::state::machine::{DeviceHistory, MachineHistory, ReadBy};
use crate::state::series::{Series, Squeeze};

/// How much is shown of each device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Two lines for each device.
    Brief,
    /// A line for each history.
    Full,
}

pub(super) fn heading(machine: &MachineHistory) -> String {
    match machine.read_by {
        ReadBy::Run => "Devices, as the run records them".to_owned(),
        ReadBy::Monitor => "Devices, read by the monitor".to_owned(),
    }
}

pub(super) fn lines(
    state: &State,
    width: usize,
    detail: Detail,
    theme: Theme,
) -> Vec<Line<'static>> {
    let machine = &state.machine;
    if machine.at.is_none() {
        return vec![Line::from(" reading the devices")];
    }
    let mut lines = Vec::new();
    if let Some(silence) = machine.silence(state.now) {
        let words = format!(" no answer for {}; showing the last one", duration(silence));
        lines.push(Line::styled(words, theme.bad()));
    }
    lines.push(host(machine, width, theme));
    lines.extend(unavailable(&host_gaps(machine), width, theme));
    if machine.devices.is_empty() {
        let why = machine.note.as_deref().unwrap_or(match machine.read_by {
            ReadBy::Run => "the run uses none",
            ReadBy::Monitor => "none was found",
        });
        let words = wrapped(&format!("no GPU: {why}"), width.saturating_sub(2), 2);
        lines.extend(words.into_iter().map(|line| Line::from(format!(" {line}"))));
    }
    for device in machine.devices.values() {
        lines.extend(self::device(machine, device, width, detail, theme));
    }
    lines
}

fn host(machine: &MachineHistory, width: usize, theme: Theme) -> Line<'static> {
    let cpu = reading(&machine.host.cpu_pct, "%").map(|busy| format!("busy {busy}"));
    let memory = of(&machine.host.memory_mb, &machine.host.memory_total_mb, "MB");
    let memory = memory.map(|used| format!("memory {used}"));
    let said: Vec<String> = [cpu, memory].into_iter().flatten().collect();
    let mut line = Line::from(vec![
        Span::styled(" CPU  ", theme.label()),
        Span::raw(format!("{}  ", said.join(", "))),
    ]);
    let room = width.saturating_sub(line.width() + 1);
    line.push_span(history(&machine.cpu, room, 100.0, theme));
    line
}

fn host_gaps(machine: &MachineHistory) -> Vec<(&'static str, String)> {
    let host = &machine.host;
    [("CPU busy", &host.cpu_pct), ("CPU memory", &host.memory_mb)]
        .into_iter()
        .filter_map(gap)
        .collect()
}

fn gap<T>((name, reading): (&'static str, &Reading<T>)) -> Option<(&'static str, String)> {
    Some((name, reading.reason()?.to_owned()))
}

fn device(
    machine: &MachineHistory,
    device: &DeviceHistory,
    width: usize,
    detail: Detail,
    theme: Theme,
) -> Vec<Line<'static>> {
    let sample = &device.last;
    let mut lines = vec![Line::from(vec![
        Span::styled(format!(" GPU {} ", sample.device), theme.label()),
        Span::raw(sample.name.clone()),
    ])];
    if let Some(missing) = machine.missing(device) {
        let words = format!(
            "   lost: not among the devices for {}; showing its last reading",
            duration(missing)
        );
        lines.push(Line::styled(words, theme.bad()));
    }
    lines.extend(use_of(device, width, detail, theme));
    lines.extend(condition(sample, width, detail, theme));
    lines.extend(unavailable(&gaps(sample), width, theme));
    lines
}

/// Draws utilisation and memory, side by side or one below the other.
fn use_of(
    device: &DeviceHistory,
    width: usize,
    detail: Detail,
    theme: Theme,
) -> Vec<Line<'static>> {
    let sample = &device.last;
    let busy = reading(&sample.utilisation_pct, "%").map(|busy| format!("busy {busy}"));
    let total = sample.memory_total_mb.value().copied();
    let memory = of(&sample.memory_used_mb, &sample.memory_total_mb, "MB");
    let memory = memory.map(|memory| format!("memory {memory}"));
    let power = of(&sample.power_w, &sample.power_limit_w, "W");
    let power = power.map(|power| format!("power {power}"));
    let highest = |series: &Series| series.recent(usize::MAX).into_iter().fold(0.0, f64::max);
    let mut rows = vec![(busy, &device.utilisation, 100.0)];
    let most = total.unwrap_or_else(|| highest(&device.memory));
    rows.push((memory, &device.memory, most));
    if detail == Detail::Full {
        rows.push((power, &device.power, highest(&device.power)));
    }
    let known: Vec<_> = rows
        .into_iter()
        .filter_map(|(words, series, most)| Some((words?, series, most)))
        .collect();
    let row = |(words, series, most): &(String, &Series, f64), width: usize, pad: usize| {
        let words = format!("{words:<pad$}  ");
        let room = width.saturating_sub(words.chars().count());
        [Span::raw(words), history(series, room, *most, theme)]
    };
    if detail == Detail::Brief && width >= 60 {
        let half = (width - 3) / 2;
        let mut line = Line::from("   ");
        for (at, known) in known.iter().enumerate() {
            let [words, picture] = row(known, half - 2, 8);
            let used = words.width() + picture.width();
            line.push_span(words);
            line.push_span(picture);
            if at == 0 {
                line.push_span(Span::raw(" ".repeat(half.saturating_sub(used))));
            }
        }
        return if known.is_empty() { vec![] } else { vec![line] };
    }
    let rows = known.iter().map(|known| {
        let mut line = Line::from("   ");
        for span in row(known, width.saturating_sub(4), 28) {
            line.push_span(span);
        }
        line
    });
    rows.collect()
}

/// Describes power, temperature, clocks, throttling and the link.
fn condition(
    sample: &DeviceSample,
    width: usize,
    detail: Detail,
    theme: Theme,
) -> Vec<Line<'static>> {
    let throttle = sample
        .throttle
        .value()
        .map(|reasons| match reasons.as_slice() {
            [] => "not throttled".to_owned(),
            reasons => format!("throttled: {}", reasons.join(", ")),
        });
    let said = [
        // Where there is room, power has a line with its history.
        of(&sample.power_w, &sample.power_limit_w, "W").filter(|_| detail == Detail::Brief),
        reading(&sample.temperature_c, "°C"),
        of(&sample.clock_mhz, &sample.clock_max_mhz, "MHz"),
        throttle,
        link(sample),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() {
        return Vec::new();
    }
    let throttled = sample.throttle.value().is_some_and(|why| !why.is_empty());
    let style = match throttled {
        true => theme.warning(),
        false => ratatui::style::Style::new(),
    };
    let words = wrapped(&said.join(" · "), width.saturating_sub(4), 0);
    words
        .into_iter()
        .map(|line| Line::styled(format!("   {line}"), style))
        .collect()
}

/// Writes `296 of 350 W`, or `296 W` where the most is not known.
fn of(now: &Reading<f64>, most: &Reading<f64>, unit: &str) -> Option<String> {
    let now = now.value()?;
    Some(match most.value() {
        Some(most) => format!("{now:.0} of {most:.0} {unit}"),
        None => format!("{now:.0} {unit}"),
    })
}

/// Describes the PCI Express link: what it is, could be, and can carry.
fn link(sample: &DeviceSample) -> Option<String> {
    let (generation, width) = (sample.pcie_gen.value()?, sample.pcie_width.value()?);
    let mut said = format!("PCIe {generation:.0} x{width:.0}");
    if let (Some(best), Some(most)) = (sample.pcie_gen_max.value(), sample.pcie_width_max.value()) {
        said.push_str(&format!(" of {best:.0} x{most:.0}"));
    }
    if let Some(rate) = sample.pcie_gb_s() {
        said.push_str(&format!(", {rate:.1} GB/s"));
    }
    Some(said)
}

fn gaps(sample: &DeviceSample) -> Vec<(&'static str, String)> {
    let mut gaps: Vec<_> = [
        ("busy", &sample.utilisation_pct),
        ("memory", &sample.memory_used_mb),
        ("memory size", &sample.memory_total_mb),
        ("power", &sample.power_w),
        ("power limit", &sample.power_limit_w),
        ("temperature", &sample.temperature_c),
        ("clock", &sample.clock_mhz),
        ("highest clock", &sample.clock_max_mhz),
        ("PCIe", &sample.pcie_gen),
        ("PCIe lanes", &sample.pcie_width),
        ("best PCIe", &sample.pcie_gen_max),
        ("best PCIe lanes", &sample.pcie_width_max),
    ]
    .into_iter()
    .filter_map(gap)
    .collect();
    gaps.extend(gap(("throttling", &sample.throttle)));
    gaps
}

/// Lists each reason once, with everything it is the reason for.
fn unavailable(gaps: &[(&'static str, String)], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in gaps {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let said = reasons
        .into_iter()
        .map(|(why, names)| format!("{} unavailable: {why}", names.join(", ")));
    said.flat_map(|words| wrapped(&words, width.saturating_sub(4), 2))
        .map(|line| Line::styled(format!("   {line}"), theme.label()))
        .collect()
}

fn history(series: &Series, room: usize, most: f64, theme: Theme) -> Span<'static> {
    if series.len() < 2 {
        return Span::raw("");
    }
    let values = series.columns(room, Squeeze::Max);
    Span::styled(bars(&values, 0.0, most), theme.curve())
}
