//! Benchmarks: everything that measures speed stands here, and nothing else does.
//!
//! [`data_path`] times what happens before a batch, [`pipeline`] how long a step waits for one,
//! [`step`] a training step, [`train`] a whole stage, [`telemetry`] what recording costs and
//! [`synth`] speech. All of them read one [`clock`] and print in one [`frame`]; corpora come from
//! [`myxtts_data::generated_corpus`], or from the sample corpus where speech is needed. The
//! examples of this crate are run by hand or by the scripts in `benchmarks/`.

pub mod clock;
pub mod data_path;
pub mod frame;
pub mod pipeline;
pub mod step;
pub mod synth;
pub mod telemetry;
pub mod train;
