//! Reference numbers of the Python implementation.
//!
//! Every set under `MYXTTS_PARITY_DIR` (default: the committed one) is read. A
//! set is a folder with a `manifest.json`; all sizes come from it.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::params::StateDict;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

/// A fixture set.
pub struct Set {
    folder: PathBuf,
    pub manifest: Value,
}

/// Every set there is.
pub fn sets() -> Vec<Set> {
    let root = std::env::var_os("MYXTTS_PARITY_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/fixtures"),
        PathBuf::from,
    );
    let below = fs::read_dir(&root).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = std::iter::once(root.clone())
        .chain(below.map(|entry| entry.path()))
        .filter(|folder| folder.join("manifest.json").is_file())
        .collect();
    folders.sort();
    assert!(
        !folders.is_empty(),
        "no fixture set (a folder with manifest.json) in {} or right below it",
        root.display()
    );
    folders.into_iter().map(Set::open).collect()
}

impl Set {
    fn open(folder: PathBuf) -> Self {
        let text = fs::read(folder.join("manifest.json")).unwrap();
        let manifest = serde_json::from_slice(&text).unwrap();
        Self { folder, manifest }
    }

    pub fn name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    pub fn file(&self, name: &str) -> File {
        let path = self.folder.join(format!("{name}.safetensors"));
        File(fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    /// Prints how far `ours` is from `reference`, relative to the largest
    /// value of the latter, and fails beyond `most`.
    pub fn compare(&self, what: &str, ours: &[f32], reference: &[f32], most: f64) {
        assert_eq!(ours.len(), reference.len(), "{what}: length");
        let pairs = || ours.iter().zip(reference);
        let difference = pairs()
            .map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs())
            .fold(0.0, f64::max);
        let scale = reference.iter().fold(0.0_f32, |most, b| most.max(b.abs()));
        self.check(what, difference / f64::from(scale), most);
    }

    /// The same for a gradient: the norm of the difference against the norm.
    pub fn compare_norms(&self, what: &str, ours: &[f32], reference: &[f32], most: f64) {
        assert_eq!(ours.len(), reference.len(), "{what}: length");
        let norm =
            |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
        let pairs = ours.iter().zip(reference);
        let difference = norm(&mut pairs.map(|(a, b)| f64::from(*a) - f64::from(*b)));
        let whole = norm(&mut reference.iter().map(|b| f64::from(*b)));
        self.check(what, difference / whole, most);
    }

    /// The same for one number.
    pub fn compare_number(&self, what: &str, ours: f64, reference: f64, most: f64) {
        self.check(what, (ours - reference).abs() / reference.abs(), most);
    }

    fn check(&self, what: &str, found: f64, most: f64) {
        let set = self.name();
        println!("{set}: {what:<56} {found:.2e} of {most:.0e} allowed");
        assert!(
            found <= most,
            "{set}: {what} differs by {found:.3e}, and {most:.0e} is allowed"
        );
    }
}

/// A safetensors file.
pub struct File(Vec<u8>);

impl File {
    fn data(&self, name: &str) -> TensorData {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let view = file.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let shape = view.shape().to_vec();
        match view.dtype() {
            Dtype::F32 => {
                let chunks = view.data().as_chunks::<4>().0.iter();
                TensorData::new(chunks.map(|b| f32::from_le_bytes(*b)).collect(), shape)
            }
            Dtype::I64 => {
                let chunks = view.data().as_chunks::<8>().0.iter();
                TensorData::new(chunks.map(|b| i64::from_le_bytes(*b)).collect(), shape)
            }
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Every tensor.
    pub fn state_dict(&self) -> StateDict {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let names = file.names().into_iter();
        names
            .map(|name| (name.to_owned(), self.data(name)))
            .collect()
    }

    pub fn floats(&self, name: &str) -> Vec<f32> {
        self.data(name).try_into_vec().unwrap()
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        self.data(name).try_into_vec().unwrap()
    }

    pub fn tensor<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D> {
        Tensor::from_data(self.data(name), device)
    }

    pub fn int_tensor<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D, Int> {
        Tensor::from_data(self.data(name), device)
    }
}

/// A tensor's values on the host.
pub fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.try_to_vec_as().unwrap()
}
