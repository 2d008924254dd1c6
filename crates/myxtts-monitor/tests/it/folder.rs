//! A run folder, and what a training does to it.

use std::fs::{self, File};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use myxtts_monitor::WallTime;
use myxtts_run::metrics::{MetricsWriter, Record};
use myxtts_run::progress::{Numbers, StageNumbers, quiet_line};
use myxtts_run::run_folder::RunFolder;
use myxtts_run::units::Step;

pub(crate) struct Run {
    path: PathBuf,
    held: Option<RunFolder>,
}

impl Run {
    /// Takes the folder, as a training does.
    pub(crate) fn begin(path: &Path) -> Self {
        Self {
            held: Some(RunFolder::take(path).unwrap()),
            ..Self::at(path)
        }
    }

    /// A folder that is held already.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            held: None,
        }
    }

    fn append(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        let file = File::options().create(true).append(true).open(path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Lines of metrics, ledger and log for each of these steps.
    pub(crate) fn steps(&self, steps: RangeInclusive<u64>) {
        for step in steps {
            self.append("metrics.jsonl", &metrics(step));
            for (stage, wait, busy) in [("host", 10, 90), ("device", 60, 30), ("model", 5, 95)] {
                let line = format!(
                    "{{\"stage\":\"{stage}\",\"worker\":0,\"step\":{step},\"lane\":0,\"at_us\":{},\
                     \"wait_in_us\":{wait},\"busy_us\":{busy},\"wait_out_us\":1,\"bytes\":10,\"occupancy\":2}}\n",
                    step * 1000
                );
                self.append("ledger.jsonl", &line);
            }
            let numbers = Numbers {
                step: Step(step),
                total: Some(Step(60)),
                stage: Some(StageNumbers {
                    name: "gpt",
                    number: 2,
                    of: 2,
                    step: Step(step),
                    total: Step(60),
                }),
                loss: Some(1.0),
                steps_per_second: Some(2.0),
                ..Numbers::default()
            };
            let line = format!("2026-03-01T12:00:00Z {}\n", quiet_line(&numbers));
            self.append("train.log", &line);
        }
    }

    /// The first part of a line, as a write that was caught in the middle.
    pub(crate) fn half_a_line(&self) {
        self.append("metrics.jsonl", "{\"step\":21,\"wall_time\":1.0,\"sta");
    }

    pub(crate) fn finish_line(&self, step: u64) {
        assert_eq!(step, 21);
        self.append("metrics.jsonl", "ge\":\"gpt\",\"loss\":0.5}\n");
    }

    pub(crate) fn devices(&self, temperature: f64) {
        let now = WallTime::now().0;
        let line = format!(
            "{{\"wall_time\":{now},\"host\":{{\"cpu_pct\":12}},\"devices\":[{{\"device\":0,\"name\":\"card of the run\",\
             \"temperature_c\":{temperature},\"power_w\":{{\"unavailable\":\"the driver does not say\"}}}}]}}\n"
        );
        self.append("devices.jsonl", &line);
    }

    /// A sample without the device that was in those before.
    pub(crate) fn lose_device(&self) {
        let now = WallTime::now().0 + 1.0;
        let line = format!("{{\"wall_time\":{now},\"host\":{{}},\"devices\":[]}}\n");
        self.append("devices.jsonl", &line);
    }

    pub(crate) fn rotate_devices(&self) {
        let (now, old) = ("devices.jsonl", "devices.1.jsonl");
        fs::rename(self.path.join(now), self.path.join(old)).unwrap();
    }

    /// Cuts the metrics after `step`, as a resumed training does.
    pub(crate) fn resume_from(&self, step: u64) {
        let path = self.path.join("metrics.jsonl");
        MetricsWriter::open(path, Some(Step(step))).unwrap();
    }

    pub(crate) fn truncate_ledger(&self) {
        File::create(self.path.join("ledger.jsonl")).unwrap();
    }

    pub(crate) fn findings(&self, verdict: &str) {
        let text = format!("{{\"at_step\":12,\"verdict\":\"{verdict}\",\"findings\":[]}}");
        myxtts_files::replace(&self.path.join("findings.json"), text.as_bytes()).unwrap();
    }

    pub(crate) fn end(mut self) {
        self.held.take().unwrap().release().unwrap();
    }
}

fn metrics(step: u64) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("line");
    let (mut writer, _) = MetricsWriter::open(&path, None).unwrap();
    let record = Record::new(Step(step))
        .text("stage", "gpt")
        .f64("loss", 2.0 / step as f64)
        .f64("step_s", 0.25)
        .f64("data_wait_s", 0.01);
    writer.append(&record).unwrap();
    fs::read_to_string(&path).unwrap()
}
