//! Mels and resampling against the reference implementation's own numbers.
//!
//! Reads every fixture set under `MYXTTS_PARITY_DIR` (default: the committed
//! one) and prints the largest difference per tensor. A set is a folder with a
//! `manifest.json`; sizes and rates come from it and from the tensors.

use std::fs;
use std::path::{Path, PathBuf};

use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{Compression, MelFrontEnd, MelSpec, ResampleSpec, Resampler};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

const MEL: f64 = 1e-4;
const WAVE: f64 = 1e-3;

/// The folders that hold a fixture set: the named one, or those right below it.
fn sets() -> Vec<PathBuf> {
    let root = std::env::var_os("MYXTTS_PARITY_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/fixtures"),
        PathBuf::from,
    );
    let is_set = |folder: &PathBuf| folder.join("manifest.json").is_file();
    let below = fs::read_dir(&root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut sets: Vec<PathBuf> = std::iter::once(root.clone())
        .chain(below)
        .filter(is_set)
        .collect();
    sets.sort();
    assert!(
        !sets.is_empty(),
        "no fixture set (a folder with manifest.json) in {} or right below it; \
         set MYXTTS_PARITY_DIR to the folder that make_fixtures.py wrote",
        root.display()
    );
    sets
}

/// One tensor: its shape and values.
struct Tensor {
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Tensor {
    /// The innermost slices, such as the waveforms of a batch.
    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(*self.shape.last().unwrap())
    }
}

struct File(Vec<u8>);

impl File {
    fn open(set: &Path, name: &str) -> Self {
        let path = set.join(name);
        Self(fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    fn tensor(&self, name: &str) -> Tensor {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let view = file.tensor(name).unwrap();
        assert_eq!(view.dtype(), Dtype::F32, "{name}");
        let values = view
            .data()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect();
        Tensor {
            shape: view.shape().to_vec(),
            values,
        }
    }
}

/// Prints the largest difference and fails beyond `most`.
fn compare(set: &Path, name: &str, ours: &[f32], reference: &[f32], most: f64) {
    assert_eq!(ours.len(), reference.len(), "{name}: length");
    let worst = ours
        .iter()
        .zip(reference)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs())
        .fold(0.0, f64::max);
    let set = set.file_name().unwrap_or_default().to_string_lossy();
    println!("{set}: {name:<24} largest difference {worst:.2e} of {most:.0e} allowed");
    assert!(
        worst <= most,
        "{set}: {name} differs by {worst:.3e}, and {most:.0e} is allowed"
    );
}

/// The mels of a batch of waveforms, one after the other.
fn mels(spec: MelSpec, stats: Option<&Tensor>, waves: &Tensor) -> Vec<f32> {
    let mut front_end = MelFrontEnd::new(spec, stats.map(|stats| stats.values.clone())).unwrap();
    waves
        .rows()
        .flat_map(|wave| front_end.mel(wave).unwrap().values)
        .collect()
}

#[test]
fn mel_front_ends() {
    for set in sets() {
        let file = File::open(&set, "fx_mel.safetensors");
        let (wave, stats) = (file.tensor("wav_22k"), file.tensor("mel_norms"));
        let bands = stats.values.len();
        let dvae = MelSpec {
            bands,
            ..MelSpec::DVAE
        };
        let conditioning = MelSpec {
            bands,
            ..MelSpec::CONDITIONING
        };
        for (name, spec) in [("mel_dvae", dvae), ("mel_cond", conditioning)] {
            let reference = file.tensor(name);
            compare(
                &set,
                name,
                &mels(spec, Some(&stats), &wave),
                &reference.values,
                MEL,
            );
        }
        let gpt = File::open(&set, "fx_gpt.safetensors");
        let ours = mels(conditioning, Some(&stats), &gpt.tensor("cond_wav"));
        compare(
            &set,
            "cond_mels",
            &ours,
            &gpt.tensor("cond_mels").values,
            MEL,
        );
    }
}

#[test]
fn windows_and_filter_banks() {
    for set in sets() {
        let file = File::open(&set, "fx_mel.safetensors");
        let spec = MelSpec::DVAE;
        compare(
            &set,
            "window_1024",
            &spec.padded_window(),
            &file.tensor("window_1024").values,
            1e-6,
        );
        let bank = file.tensor("fb_dvae");
        assert_eq!(bank.shape, [spec.n_fft.0 / 2 + 1, spec.bands]);
        compare(
            &set,
            "fb_dvae",
            &spec.dense_filter_bank(),
            &bank.values,
            1e-6,
        );
        let spec = MelSpec::CONDITIONING;
        let column: Vec<f32> = spec
            .dense_filter_bank()
            .into_iter()
            .skip(40)
            .step_by(spec.bands)
            .collect();
        compare(
            &set,
            "fb_cond_band40",
            &column,
            &file.tensor("fb_cond_band40").values,
            1e-6,
        );
    }
}

#[test]
fn speaker_mel() {
    for set in sets() {
        let file = File::open(&set, "fx_spk.safetensors");
        let manifest: Value =
            serde_json::from_slice(&fs::read(set.join("manifest.json")).unwrap()).unwrap();
        let audio = &manifest["spk"]["config"]["audio_config"];
        let whole = |key: &str| usize::try_from(audio[key].as_u64().unwrap()).unwrap();
        let hz = u32::try_from(whole("sample_rate")).unwrap();
        // The fixture stops before the logarithm.
        let spec = MelSpec {
            sample_rate: SampleRate::new(hz).unwrap(),
            n_fft: Samples(whole("fft_size")),
            win_length: Samples(whole("win_length")),
            hop: Samples(whole("hop_length")),
            bands: whole("num_mels"),
            pre_emphasis: audio["preemphasis"].as_f64().map(|x| x as f32),
            compression: Compression::Power,
            instance_norm: false,
            ..MelSpec::SPEAKER
        };
        let ours = mels(spec, None, &file.tensor("wav_16k"));
        compare(
            &set,
            "spk mel (power)",
            &ours,
            &file.tensor("mel").values,
            MEL,
        );
    }
}

#[test]
fn resampled_waves() {
    for set in sets() {
        let file = File::open(&set, "fx_mel.safetensors");
        let wave = file.tensor("wav_22k");
        for (name, rate, spec) in [
            ("wav_16k_hann", SampleRate::SPEAKER, ResampleSpec::XTTS),
            (
                "wav_24k_kaiser",
                SampleRate::VOCODER,
                ResampleSpec::KAISER_BEST,
            ),
        ] {
            let ours = Resampler::new(SampleRate::XTTS, rate, spec).process(&wave.values);
            compare(&set, name, &ours, &file.tensor(name).values, WAVE);
        }
    }
}
