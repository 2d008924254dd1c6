//! What can be wrong with a file of weights: what, where, why and the fix.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use myxtts_base::{Report, report};
use myxtts_text::VocabError;
use thiserror::Error;

use crate::tensor::Dtype;

/// A file or folder of weights that could not be read or written.
#[derive(Debug)]
pub struct WeightsError {
    /// The file or folder in question.
    pub path: PathBuf,
    /// The tensor, where there is one to name.
    pub tensor: Option<String>,
    /// What is wrong with it.
    pub fault: Box<Fault>,
    writing: bool,
}

impl WeightsError {
    pub(crate) fn read(path: &Path, fault: Fault) -> Self {
        Self {
            path: path.to_owned(),
            tensor: None,
            fault: Box::new(fault),
            writing: false,
        }
    }

    pub(crate) fn write(path: &Path, fault: Fault) -> Self {
        Self {
            writing: true,
            ..Self::read(path, fault)
        }
    }

    /// Puts `folder` before the path.
    pub(crate) fn below(self, folder: &Path) -> Self {
        Self {
            path: folder.join(&self.path),
            ..self
        }
    }

    pub(crate) fn at(self, tensor: &str) -> Self {
        self.about(Some(tensor))
    }

    pub(crate) fn about(self, tensor: Option<&str>) -> Self {
        Self {
            tensor: tensor.map(str::to_owned),
            ..self
        }
    }
}

impl fmt::Display for WeightsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.writing { "written" } else { "read" };
        let what = report!("{} cannot be {verb}: {}", self.path.display(), self.fault);
        // A vocabulary says by itself how to mend it.
        let mut report = Report::of(&what);
        let fix = report.take_fix();
        let mut report = report.fix(fix.unwrap_or_else(|| self.fault.fix().to_owned()));
        if let Some(tensor) = &self.tensor {
            report = report.at(format!("tensor {tensor}"));
        }
        report.fmt(f)
    }
}

impl std::error::Error for WeightsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.fault)
    }
}

/// Why a file or folder of weights cannot be read or written.
#[derive(Debug, Error)]
pub enum Fault {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The path is a folder, a pipe or a device.
    #[error("it is not a file")]
    NotAFile,
    /// The file has no bytes.
    #[error("it is empty")]
    Empty,
    /// The file is in torch's format before 1.6.
    #[error("it is in the format torch wrote before version 1.6")]
    OldTorch,
    /// The file is what Git LFS leaves in place of one.
    #[error("it is a Git LFS pointer, not the file it points to")]
    LfsPointer,
    /// The file is a web page under its name.
    #[error("it is a web page, not weights")]
    WebPage,
    /// The file is not torch's container.
    #[error("it is not a torch file: {0}")]
    Zip(&'static str),
    /// An entry is compressed or encrypted.
    #[error("its entry `{0}` is compressed or encrypted, but torch stores entries as they are")]
    Compressed(String),
    /// An entry occurs twice.
    #[error("its entry `{0}` occurs twice")]
    DuplicateEntry(String),
    /// An entry that must be there is missing.
    #[error("its entry `{0}` is missing")]
    MissingEntry(String),
    /// The bytes of an entry are not those that were written.
    #[error("the checksum of its entry `{0}` does not match")]
    Checksum(String),
    /// The file was written on a big-endian machine.
    #[error("its numbers are big-endian")]
    BigEndian,
    /// The bytes of the pickle make no sense.
    #[error("its pickle is broken at byte {at}: {what}")]
    Pickle {
        /// The position in the pickle, in bytes.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// The pickle has an instruction that torch does not write.
    #[error("its pickle has the instruction 0x{code:02x} at byte {at}, which torch does not write")]
    Instruction {
        /// The code of the instruction.
        code: u8,
        /// The position in the pickle, in bytes.
        at: usize,
    },
    /// The file has more of something than any checkpoint has.
    #[error("it has more than {limit} {what}, which no checkpoint has")]
    TooMuch {
        /// What it has too much of.
        what: &'static str,
        /// How much of it is allowed.
        limit: usize,
    },
    /// The pickle is made to run something on the machine that loads it.
    #[error("it names `{0}`: it was made to run code on the machine that loads it")]
    Attack(String),
    /// There is a Python object in the place of tensors.
    #[error("it holds the Python object `{0}`, not tensors by name")]
    Object(String),
    /// A tensor is wrapped in something that is not read.
    #[error("the tensor is wrapped in the Python object `{0}`")]
    Wrapped(String),
    /// A tensor cannot be made from its arguments.
    #[error("the tensor's description is broken: {0}")]
    Description(&'static str),
    /// Two tensors have one name.
    #[error("the name occurs twice")]
    DuplicateName,
    /// The sizes of a storage and of its entry disagree.
    #[error("the storage should have {claimed} bytes, but its entry `{entry}` has {found}")]
    Storage {
        /// The name of the entry.
        entry: String,
        /// The bytes that the pickle claims.
        claimed: u128,
        /// The bytes that the entry has.
        found: usize,
    },
    /// A view reaches past the end of its storage.
    #[error(
        "the tensor of shape {shape:?} with strides {strides:?} from element {offset} on reaches \
         past the {elements} elements of its storage"
    )]
    PastEnd {
        /// The sizes of the view.
        shape: Vec<i64>,
        /// The steps between elements, per dimension.
        strides: Vec<i64>,
        /// The position of the first element.
        offset: i64,
        /// The number of elements in the storage.
        elements: usize,
    },
    /// A tensor repeats a few numbers until they would fill the memory.
    #[error("the tensor of shape {0:?} repeats a few numbers until it is larger than the file")]
    Expanded(Vec<usize>),
    /// The bytes and the shape of a tensor disagree.
    #[error("{found} bytes were given for a tensor of {dtype:?} and shape {shape:?}")]
    Length {
        /// The sizes of the tensor.
        shape: Vec<usize>,
        /// The type of its elements.
        dtype: Dtype,
        /// The number of bytes given.
        found: usize,
    },
    /// The safetensors crate refused the file.
    #[error("it is not a valid safetensors file: {0}")]
    Safetensors(safetensors::SafeTensorError),
    /// A tensor has an element type we have no use for.
    #[error("its tensor {tensor} has elements of type {dtype}")]
    SafetensorsDtype {
        /// The name of the tensor.
        tensor: String,
        /// The type of its elements.
        dtype: String,
    },
    /// The file is not JSON, even leniently, or lacks a size.
    #[error("it is not the configuration of an XTTS model: {0}")]
    Json(serde_json::Error),
    /// A field cannot be read: its path, and the reader's words.
    #[error("its field `{0}` cannot be read: {1}")]
    Field(String, String),
    /// A key of a configuration has an impossible value.
    #[error("its key `{key}` should be {expected}, but is {found}")]
    ConfigKey {
        /// The path of the key.
        key: String,
        /// What the value should be.
        expected: &'static str,
        /// What the value is.
        found: String,
    },
    /// The weights come without their configuration.
    #[error("config.json is missing, and nothing else gives the number of attention heads")]
    NoConfig,
    /// The vocabulary cannot be used.
    #[error(transparent)]
    Vocabulary(VocabError),
    /// The folder has no model.
    #[error("it has no file with model weights")]
    NoModel,
    /// The weights are of something else.
    #[error(
        "it has no tensor {missing}, which every such file has (tensors of this part: {found})"
    )]
    NotXtts {
        /// The first name that was missed.
        missing: String,
        /// The number of tensors that are there.
        found: usize,
    },
    /// A tensor has an impossible shape.
    #[error("the tensor has shape {found:?}, but should have {expected}")]
    Shape {
        /// The shape that it has.
        found: Vec<usize>,
        /// The shape that it should have.
        expected: String,
    },
    /// Two sources of one number disagree.
    #[error("{what} is {configured} in {by}, but the weights have {found}")]
    Disagree {
        /// The number in question.
        what: &'static str,
        /// The name of the other source.
        by: &'static str,
        /// The value in the other source.
        configured: usize,
        /// The value in the weights.
        found: usize,
    },
    /// A folder of ours is in another version.
    #[error("it is in version {0} of our layout, but this program reads version 1")]
    Version(u64),
    /// The folder is not one of ours.
    #[error("it does not describe weights in our layout: {0}")]
    NotOurs(String),
    /// A file is not the one that was written.
    #[error(
        "it is not the file that was written: its hash is {found}, but config.json has {expected}"
    )]
    Hash {
        /// The hash that the description has.
        expected: String,
        /// The hash of the file.
        found: String,
    },
    /// The target exists and is not empty.
    #[error("it already exists and is not empty")]
    Exists,
    /// Something a public checkpoint needs is not there.
    #[error("the weights have no {0}")]
    Incomplete(&'static str),
}

const AGAIN: &str =
    "download or copy the file again; if that does not help, save it again with torch.save";
const PLAIN: &str = "save the weights alone: torch.save(model.state_dict(), \"model.pth\")";
const NEWER_TORCH: &str = "save it again with a newer torch: \
     torch.save(torch.load(\"old.pth\", map_location=\"cpu\"), \"model.pth\")";
const UNPACKED: &str = "do not repack a torch file; download it again or save it with torch.save";
const UNTRUSTED: &str =
    "nothing was run; delete the file and get the weights from a source you trust";
const DETACHED: &str =
    "save plain tensors: tensor.detach().clone() for every entry of the state dict";
const CONTIGUOUS: &str = "save full tensors: tensor.contiguous() for every entry of the state dict";
const MODEL_FILE: &str =
    "give the folder of model.pth, best_model.pth or checkpoint_STEP.pth, or name the file";
const NO_DECODER: &str = "a model trained here from scratch speaks with `myxtts synthesize`; the \
     public package needs the waveform decoder of the weights it was fine-tuned from";

impl Fault {
    /// Returns what to do about it.
    fn fix(&self) -> &'static str {
        match self {
            Self::Io(_) => {
                "check that the path exists, is readable or writable, and that the disk has room"
            }
            Self::NotAFile => "give the path of a file",
            Self::Empty
            | Self::Zip(_)
            | Self::MissingEntry(_)
            | Self::Checksum(_)
            | Self::DuplicateEntry(_)
            | Self::Pickle { .. }
            | Self::Storage { .. }
            | Self::PastEnd { .. }
            | Self::Description(_)
            | Self::Length { .. } => AGAIN,
            Self::Safetensors(_) => "download, copy or write the file again",
            Self::OldTorch => NEWER_TORCH,
            Self::LfsPointer => "fetch the file itself: git lfs pull",
            Self::WebPage => {
                "download the file itself; this is a login or licence page in its place"
            }
            Self::Compressed(_) => UNPACKED,
            Self::BigEndian => "load and save it with torch on a little-endian machine",
            Self::Attack(_) => UNTRUSTED,
            Self::Instruction { .. }
            | Self::TooMuch { .. }
            | Self::Object(_)
            | Self::DuplicateName => PLAIN,
            Self::Wrapped(_) => DETACHED,
            Self::Expanded(_) => CONTIGUOUS,
            Self::SafetensorsDtype { .. } => {
                "save it as one of F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL"
            }
            Self::Json(_) | Self::Field(..) | Self::ConfigKey { .. } => {
                "correct it, or take the config.json that came with the weights"
            }
            Self::NoConfig => "put the config.json that came with the weights beside them",
            Self::Vocabulary(_) => "take the vocab.json that came with the weights",
            Self::NoModel => MODEL_FILE,
            Self::NotXtts { .. } => {
                "give the model.pth of an XTTS model, or a checkpoint of its trainer"
            }
            Self::Shape { .. } => "use files that belong to one XTTS model",
            Self::Disagree { .. } => {
                "use the config.json and vocab.json that came with these weights"
            }
            Self::Version(_) => {
                "use the version of this program that wrote it, or import the public files again"
            }
            Self::NotOurs(_) => "give a folder that `myxtts import` wrote",
            Self::Hash { .. } => "copy the folder again, or import the public files again",
            Self::Exists => "name a folder that does not exist yet",
            Self::Incomplete("hifigan_decoder") => NO_DECODER,
            Self::Incomplete(_) => "first import the file that has it, together with model.pth",
        }
    }
}
