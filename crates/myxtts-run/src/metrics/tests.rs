use proptest::prelude::*;

use super::{MetricsWriter, Record, Repaired, read, read::parse};
use crate::units::Step;

fn loss(step: u64) -> f32 {
    // Awkward bits on purpose.
    f32::from_bits(0x4000_0001_u32.wrapping_add(u32::try_from(step).unwrap() * 7919))
}

fn run(path: &std::path::Path, from: u64, to: u64) -> Repaired {
    let (mut writer, repaired) =
        MetricsWriter::open(path, (from > 0).then_some(Step(from))).unwrap();
    for step in from + 1..=to {
        let record = Record::new(Step(step))
            .f32("loss", loss(step))
            .text("kind", "a \"b\", {c}: \\");
        writer.append_at(&record, step as f64 / 3.0).unwrap();
    }
    writer.sync().unwrap();
    repaired
}

proptest! {
    #[test]
    fn numbers_keep_every_bit(a in any::<u32>(), b in any::<u64>(), c in any::<u64>()) {
        let (a, b) = (f32::from_bits(a), f64::from_bits(b));
        let line = Record::new(Step(3)).f32("a", a).f64("b", b).count("c", c).list("d", &[b, 0.5]).to_line(0.5);
        let line = parse(line.as_bytes()).unwrap();
        let (x, y) = (line.f32("a").unwrap(), line.f64("b").unwrap());
        prop_assert!(x.to_bits() == a.to_bits() || (x.is_nan() && a.is_nan()));
        prop_assert!(y.to_bits() == b.to_bits() || (y.is_nan() && b.is_nan()));
        prop_assert_eq!(line.names().collect::<Vec<_>>(), ["step", "wall_time", "a", "b", "c", "d"]);
        let listed = line.list("d").unwrap();
        prop_assert!(listed[0].to_bits() == b.to_bits() || (listed[0].is_nan() && b.is_nan()));
        prop_assert_eq!(&listed[1..], &[0.5]);
    }

    #[test]
    fn any_cut_resumes_to_the_uninterrupted_file(
        reached in 1..30_u64,
        back in 0..30_u64,
        torn in 0..200_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
        run(&whole, 0, 40);
        run(&broken, 0, reached);
        let resume = reached.saturating_sub(back);
        // A crash tears the file somewhere after the checkpoint.
        let text = std::fs::read(&broken).unwrap();
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let saved = match resume {
            0 => 0,
            n => ends.map(|(at, _)| at + 1).nth(usize::try_from(n).unwrap() - 1).unwrap(),
        };
        let keep = saved + torn % (text.len() - saved + 1);
        std::fs::write(&broken, &text[..keep]).unwrap();

        let repaired = run(&broken, resume, 40);
        prop_assert_eq!(std::fs::read(&broken).unwrap(), std::fs::read(&whole).unwrap());
        prop_assert_eq!(repaired.half_line, keep > 0 && text[keep - 1] != b'\n');
    }
}

#[test]
fn what_is_written() {
    let record = Record::new(Step(12))
        .f32("loss", 0.1)
        .f64("lr", 1e-7)
        .f64("norm", f64::NAN)
        .f32("worst", f32::NEG_INFINITY)
        .count("clips", 48)
        .text("device", "cpu")
        .list("replica_step_s", &[0.25, f64::NAN])
        .list("none", &[]);
    insta::assert_snapshot!(record.to_line(1_790_000_000.25));
}

#[test]
fn a_repair_is_reported_and_nothing_else_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics.jsonl");
    assert_eq!(run(&path, 0, 5), Repaired::default());
    assert_eq!(run(&path, 5, 7), Repaired::default());
    assert_eq!(
        run(&path, 4, 4),
        Repaired {
            cut: 3,
            half_line: false
        }
    );
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"step\":5,\"lo")).unwrap();
    assert_eq!(read(&path).unwrap().len(), 4);
    assert_eq!(
        run(&path, 4, 4),
        Repaired {
            cut: 0,
            half_line: true
        }
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn refusals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metrics.jsonl");
    let good = "{\"step\":1}\n";
    let said: Vec<_> = [
        "{\"step\":1.5}\n",
        "{\"step\"\n",
        "{\"step\":2,\"a\":[[1]]}\n",
        "[]\n",
    ]
    .iter()
    .map(|bad| {
        std::fs::write(&path, format!("{good}{bad}{good}")).unwrap();
        let opened = MetricsWriter::open(&path, Some(Step(9)))
            .unwrap_err()
            .to_string();
        assert_eq!(opened, read(&path).unwrap_err().to_string());
        opened.replace(folder.path().to_str().unwrap(), "RUN")
    })
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}
