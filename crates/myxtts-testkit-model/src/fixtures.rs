//! Fixture sets of the reference implementation, and comparison with them.
//!
//! Every set under `MYXTTS_PARITY_DIR` (default: the committed one) is read. A
//! set is a folder with a `manifest.json`; sizes come from it.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use myxtts_model::params::{Path, StateDict};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

pub const MEL: f64 = 1e-4;
pub const WAVE: f64 = 1e-3;
pub const ACTIVATION: f64 = 1e-4;
pub const GRADIENT: f64 = 1e-3;

/// The parts of the model that share kernels. On software GPUs each has a device
/// of its own: a device compiles one kernel at a time, and that is what takes long.
#[derive(Clone, Copy)]
pub enum Part {
    Gpt,
    Codec,
}

/// Every set and the device to compare it on, with a multiple of the tolerance;
/// nothing where there is no such device.
pub fn cases(device: Option<Device>, slack: f64) -> Vec<(Set, Device)> {
    let Some(device) = device else { return vec![] };
    let all = Set::all().into_iter();
    all.map(|set| (Set { slack, ..set }, device.clone()))
        .collect()
}

/// One folder of reference numbers.
pub struct Set {
    folder: PathBuf,
    pub manifest: Value,
    slack: f64,
}

impl Set {
    /// The sets: the named folder, or those right below it.
    pub fn all() -> Vec<Self> {
        let root = std::env::var_os("MYXTTS_PARITY_DIR").map_or_else(
            || FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/fixtures"),
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
            "no fixture set (a folder with manifest.json) in {} or right below it; \
             set MYXTTS_PARITY_DIR to the folder that make_fixtures.py wrote",
            root.display()
        );
        folders.into_iter().map(Self::read).collect()
    }

    fn read(folder: PathBuf) -> Self {
        let manifest = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap());
        Self {
            manifest: manifest.unwrap(),
            folder,
            slack: 1.0,
        }
    }

    /// The difference that is allowed on this set's device where `most` is allowed on the CPU.
    pub fn tolerance(&self, most: f64) -> f64 {
        most * self.slack
    }

    pub fn name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// A number of the manifest, by its path with slashes.
    pub fn number(&self, pointer: &str) -> f64 {
        let value = self.manifest.pointer(pointer);
        value.and_then(Value::as_f64).expect(pointer)
    }

    /// A whole number of the manifest.
    pub fn size(&self, pointer: &str) -> usize {
        let value = self.manifest.pointer(pointer);
        usize::try_from(value.and_then(Value::as_u64).expect(pointer)).unwrap()
    }

    /// A file of JSON, if the set has it.
    pub fn json(&self, file: &str) -> Option<Value> {
        let bytes = fs::read(self.folder.join(format!("{file}.json"))).ok()?;
        Some(serde_json::from_slice(&bytes).unwrap())
    }

    /// All tensors of a file, floats and integers.
    pub fn tensors(&self, file: &str) -> Tensors {
        let path = self.folder.join(format!("{file}.safetensors"));
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let all = SafeTensors::deserialize(&bytes).unwrap();
        let data = all.iter().map(|(name, view)| {
            let shape = view.shape().to_vec();
            let data = match view.dtype() {
                Dtype::F32 => TensorData::new(words(view.data(), f32::from_le_bytes), shape),
                Dtype::I64 => TensorData::new(words(view.data(), i64::from_le_bytes), shape),
                other => panic!("{name}: {other:?}"),
            };
            (name.to_owned(), data)
        });
        Tensors(data.collect())
    }

    /// Prints the largest absolute difference and fails beyond `most`.
    pub fn absolute(&self, name: &str, ours: &[f32], reference: &[f32], most: f64) {
        let worst = largest_difference(name, ours, reference);
        self.judge(name, worst, most);
    }

    /// The same, relative to the largest reference value.
    pub fn relative(&self, name: &str, ours: &[f32], reference: &[f32], most: f64) {
        let worst = largest_difference(name, ours, reference);
        let scale = reference
            .iter()
            .fold(0.0_f64, |m, x| m.max(f64::from(x.abs())));
        self.judge(name, worst / scale.max(1e-12), most);
    }

    /// The norm of the difference, relative to the norm.
    pub fn relative_norm(&self, name: &str, ours: &[f32], reference: &[f32], most: f64) {
        assert_eq!(ours.len(), reference.len(), "{name}: length");
        let difference: Vec<f32> = ours.iter().zip(reference).map(|(a, b)| a - b).collect();
        self.judge(name, norm(&difference) / norm(reference), most);
    }

    /// One number, relative.
    pub fn scalar(&self, name: &str, ours: f64, reference: f64, most: f64) {
        self.judge(
            name,
            (ours - reference).abs() / reference.abs().max(1e-12),
            most,
        );
    }

    fn judge(&self, name: &str, worst: f64, most: f64) {
        let most = self.tolerance(most);
        let set = self.name();
        println!("{set}: {name:<40} largest difference {worst:.2e} of {most:.0e} allowed");
        // A NaN is no small difference.
        assert!(
            worst
                .partial_cmp(&most)
                .is_some_and(std::cmp::Ordering::is_le),
            "{set}: {name} differs by {worst:.3e}, and {most:.0e} is allowed"
        );
    }
}

fn words<T, const N: usize>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|b| read(*b)).collect()
}

fn largest_difference(name: &str, ours: &[f32], reference: &[f32]) -> f64 {
    assert_eq!(ours.len(), reference.len(), "{name}: length");
    ours.iter().zip(reference).fold(0.0, |worst: f64, (a, b)| {
        let difference = (f64::from(*a) - f64::from(*b)).abs();
        if difference.is_nan() {
            f64::NAN
        } else {
            worst.max(difference)
        }
    })
}

/// The tensors of one file.
pub struct Tensors(pub StateDict);

impl Tensors {
    pub fn data(&self, name: &str) -> TensorData {
        self.0
            .get(name)
            .unwrap_or_else(|| panic!("no `{name}`"))
            .clone()
    }

    pub fn values(&self, name: &str) -> Vec<f32> {
        self.data(name).try_to_vec().unwrap()
    }

    pub fn ints(&self, name: &str) -> Vec<i64> {
        self.data(name).try_to_vec().unwrap()
    }

    pub fn ints_on<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D, Int> {
        Tensor::from_data(self.data(name), device)
    }

    pub fn on<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D> {
        Tensor::from_data(self.data(name), device)
    }
}

pub fn values<const D: usize>(tensor: impl Borrow<Tensor<D>>) -> Vec<f32> {
    tensor.borrow().try_to_vec_as().unwrap()
}

pub fn whole<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.try_into_vec_as::<i64>().unwrap()
}

pub fn scalar(tensor: Tensor<1>) -> f64 {
    f64::from(tensor.into_scalar::<f32>())
}

/// The gradient of every parameter that has one, by name.
pub fn gradients<M: Module>(module: &M, gradients: &Gradients) -> BTreeMap<String, Vec<f32>> {
    let mut visitor = Collect {
        path: Path::default(),
        gradients,
        found: BTreeMap::new(),
    };
    module.visit(&mut visitor);
    visitor.found
}

pub fn norm(values: &[f32]) -> f64 {
    values
        .iter()
        .map(|x| f64::from(*x).powi(2))
        .sum::<f64>()
        .sqrt()
}

struct Collect<'a> {
    path: Path,
    gradients: &'a Gradients,
    found: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad(self.gradients) {
            self.found.insert(self.path.name(), values(gradient));
        }
    }
}
