//! Any bytes given to the configuration loader load, or give located errors.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myxtts_config::{Keys, Place, Problems, Settings, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Config {
    data: Data,
}

/// One key of every kind.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Data {
    #[schemars(range(min = 1, max = 512))]
    batch_size: u32,
    language: String,
    rate: f64,
    on: bool,
    ids: Option<Vec<u32>>,
}

fn load(bytes: &[u8]) -> Result<Settings<Config>, Problems> {
    let keys = Keys::of::<Config>(&[]);
    let layer = keys.file(&Source::from_bytes("fuzz.yaml", bytes)?)?;
    Settings::resolve(&keys, layer)
}

fuzz_target!(|bytes: &[u8]| {
    if let Err(Problems(problems)) = load(bytes) {
        assert!(!problems.is_empty());
        for problem in problems {
            assert!(matches!(problem.place, Place::File { line: 1.., column: 1.., .. }), "{problem}");
            let _ = problem.to_string();
        }
    }
});
