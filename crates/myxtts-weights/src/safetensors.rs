//! Reading and writing safetensors files.

use std::io::{BufWriter, Write};
use std::path::Path;

use myxtts_files::PREFIX;
use safetensors::tensor::SafeTensors;
use safetensors::{Dtype as Theirs, SafeTensorError};

use crate::error::{Fault, WeightsError};
use crate::map::TensorMap;
use crate::source::Source;
use crate::stream::{SafetensorsStream, TensorStream};
use crate::tensor::{Dtype, Tensor};

/// The bytes of the number that opens a file, which is the length of its header.
const HEADER_LENGTH: usize = 8;

/// Reads every tensor of a safetensors file. The numbers stay in the mapped
/// file until they are used.
pub fn read_safetensors(path: &Path) -> Result<TensorMap, WeightsError> {
    let read = || {
        let source = Source::open(path)?;
        let (header, metadata) = SafeTensors::read_metadata(source.bytes()).map_err(broken)?;
        let mut map = TensorMap::new();
        for (name, info) in metadata.tensors() {
            let dtype = ours(info.dtype).ok_or_else(|| Fault::SafetensorsDtype {
                tensor: name.clone(),
                dtype: format!("{:?}", info.dtype),
            })?;
            let (start, end) = info.data_offsets;
            let from_header = |at: usize| at.saturating_add(HEADER_LENGTH).saturating_add(header);
            let range = from_header(start)..from_header(end);
            let tensor = Tensor::within(dtype, info.shape.clone(), source.clone(), range)?;
            map.insert(name, tensor);
        }
        Ok(map)
    };
    read().map_err(|fault| WeightsError::read(path, fault))
}

/// Writes a safetensors file, whole or not at all.
pub fn write_safetensors(path: &Path, map: &TensorMap) -> Result<(), WeightsError> {
    let tensors = map
        .iter()
        .map(|(name, tensor)| TensorStream::of(name, tensor));
    SafetensorsStream::new(tensors.collect())
        .and_then(|stream| write_stream(path, stream))
        .map_err(|fault| WeightsError::write(path, fault))
}

pub(crate) fn write_stream(path: &Path, stream: SafetensorsStream<'_>) -> Result<(), Fault> {
    myxtts_files::fill(path, PREFIX, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        stream.write(&mut out)?;
        Ok(out.flush()?)
    })
}

pub(crate) fn broken(why: SafeTensorError) -> Fault {
    match why {
        SafeTensorError::IoError(why) => Fault::Io(why),
        why => Fault::Safetensors(why),
    }
}

pub(crate) fn theirs(dtype: Dtype) -> Theirs {
    match dtype {
        Dtype::F64 => Theirs::F64,
        Dtype::F32 => Theirs::F32,
        Dtype::F16 => Theirs::F16,
        Dtype::BF16 => Theirs::BF16,
        Dtype::I64 => Theirs::I64,
        Dtype::I32 => Theirs::I32,
        Dtype::I16 => Theirs::I16,
        Dtype::I8 => Theirs::I8,
        Dtype::U8 => Theirs::U8,
        Dtype::Bool => Theirs::BOOL,
    }
}

fn ours(dtype: Theirs) -> Option<Dtype> {
    Dtype::ALL.into_iter().find(|ours| theirs(*ours) == dtype)
}
