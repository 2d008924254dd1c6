//! Writing files that `torch.load(weights_only=True)` reads.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use myxtts_files::PREFIX;

use super::flatten::Scalar;
use super::pickle::PickleWriter;
use super::zip::ArchiveWriter;
use crate::error::{Fault, WeightsError};
use crate::map::TensorMap;
use crate::tensor::Tensor;

/// What a torch file holds.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A tensor with its numbers.
    Tensor(&'a Tensor),
    /// A plain value, such as a step.
    Scalar(Scalar),
    /// A dictionary of named items.
    Dict(Vec<(String, Item<'a>)>),
}

impl<'a> From<&'a TensorMap> for Item<'a> {
    fn from(map: &'a TensorMap) -> Self {
        let entry = |(name, tensor): (&str, &'a Tensor)| (name.to_owned(), Item::Tensor(tensor));
        Self::Dict(map.iter().map(entry).collect())
    }
}

/// Writes a torch file, whole or not at all.
pub fn write_torch(path: &Path, item: &Item<'_>) -> Result<(), WeightsError> {
    write(path, item).map_err(|why| WeightsError::write(path, Fault::Io(why)))
}

fn write(path: &Path, item: &Item<'_>) -> io::Result<()> {
    let mut pickle = PickleWriter::new();
    let mut storages = Vec::new();
    describe(item, &mut pickle, &mut storages)?;
    // Torch names the folder inside the archive after the file.
    let root = path.file_stem().map(|stem| stem.to_string_lossy());
    let root = root.as_deref().unwrap_or("archive");
    myxtts_files::fill(path, PREFIX, |file| {
        let mut archive = ArchiveWriter::new(BufWriter::new(file));
        archive.entry(&format!("{root}/data.pkl"), &pickle.finish())?;
        archive.entry(&format!("{root}/byteorder"), b"little")?;
        for (key, tensor) in storages.iter().enumerate() {
            archive.entry(&format!("{root}/data/{key}"), tensor.bytes())?;
        }
        archive.entry(&format!("{root}/version"), b"3\n")?;
        archive.finish()?.flush()?;
        file.sync_data()
    })
}

fn describe<'a>(
    item: &Item<'a>,
    pickle: &mut PickleWriter,
    storages: &mut Vec<&'a Tensor>,
) -> io::Result<()> {
    match item {
        Item::Tensor(tensor) => {
            pickle.tensor(tensor, &storages.len().to_string())?;
            storages.push(tensor);
        }
        Item::Scalar(Scalar::None) => pickle.none(),
        Item::Scalar(Scalar::Bool(value)) => pickle.bool(*value),
        Item::Scalar(Scalar::Int(value)) => pickle.int(*value),
        Item::Scalar(Scalar::Float(value)) => pickle.float(*value),
        Item::Scalar(Scalar::Text(value)) => pickle.text(value)?,
        Item::Dict(entries) => pickle.dict(|pickle| {
            for (key, item) in entries {
                pickle.text(key)?;
                describe(item, pickle, storages)?;
            }
            Ok(())
        })?,
    }
    Ok(())
}
