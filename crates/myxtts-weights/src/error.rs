//! What can be wrong with a file of weights: what, where, why and the fix.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::tensor::Dtype;

/// A file or folder of weights that could not be read or written.
#[derive(Debug)]
pub struct WeightsError {
    /// The file or folder.
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

    /// With `folder` before its path.
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
        write!(
            f,
            "{} cannot be {verb}: {}",
            self.path.display(),
            self.fault
        )?;
        if let Some(tensor) = &self.tensor {
            write!(f, "\n  tensor: {tensor}")?;
        }
        write!(f, "\n  fix:    {}", self.fault.fix())
    }
}

impl std::error::Error for WeightsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.fault)
    }
}

/// Why it cannot be.
#[derive(Debug, Error)]
pub enum Fault {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A folder, a pipe, a device.
    #[error("it is not a file")]
    NotAFile,
    /// No bytes.
    #[error("it is empty")]
    Empty,
    /// Torch's format before 1.6.
    #[error("it is in the format torch wrote before version 1.6")]
    OldTorch,
    /// What Git LFS leaves in place of a file.
    #[error("it is a Git LFS pointer, not the file it points to")]
    LfsPointer,
    /// A web page under the file's name.
    #[error("it is a web page, not weights")]
    WebPage,
    /// Not torch's container.
    #[error("it is not a torch file: {0}")]
    Zip(&'static str),
    /// A compressed or encrypted entry.
    #[error("its entry `{0}` is compressed or encrypted, and torch stores entries plainly")]
    Compressed(String),
    /// An entry that occurs twice.
    #[error("its entry `{0}` occurs twice")]
    DuplicateEntry(String),
    /// An entry that must be there.
    #[error("its entry `{0}` is missing")]
    MissingEntry(String),
    /// Bytes that are not those that were written.
    #[error("the checksum of its entry `{0}` does not match")]
    Checksum(String),
    /// Written on a big-endian machine.
    #[error("its numbers are big-endian")]
    BigEndian,
    /// Pickle bytes that make no sense.
    #[error("its pickle is broken at byte {at}: {what}")]
    Pickle {
        /// Where in the pickle.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// An instruction torch does not write.
    #[error("its pickle has the instruction 0x{code:02x} at byte {at}, which torch does not write")]
    Instruction {
        /// The instruction.
        code: u8,
        /// Where in the pickle.
        at: usize,
    },
    /// More of something than any checkpoint has.
    #[error("it has more than {limit} {what}, which no checkpoint has")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How many are allowed.
        limit: usize,
    },
    /// A pickle made to run something on the machine that loads it.
    #[error("it names `{0}`: it is made to run something on the machine that loads it")]
    Attack(String),
    /// A Python object in the place of tensors.
    #[error("it holds the Python object `{0}`, and not tensors by name")]
    Object(String),
    /// A tensor in a wrapping that is not read.
    #[error("the tensor is wrapped in the Python object `{0}`")]
    Wrapped(String),
    /// Arguments a tensor cannot be made from.
    #[error("the tensor's description is broken: {0}")]
    Description(&'static str),
    /// Two tensors of one name.
    #[error("the name occurs twice")]
    DuplicateName,
    /// A storage and its entry disagree.
    #[error("the storage should have {claimed} bytes, and its entry `{entry}` has {found}")]
    Storage {
        /// The entry.
        entry: String,
        /// What the pickle says.
        claimed: u128,
        /// What is there.
        found: usize,
    },
    /// A view past the end of its storage.
    #[error(
        "the tensor of shape {shape:?} with strides {strides:?} from element {offset} on reaches \
         past the {elements} elements of its storage"
    )]
    PastEnd {
        /// Sizes.
        shape: Vec<i64>,
        /// Steps between elements.
        strides: Vec<i64>,
        /// The first element.
        offset: i64,
        /// Elements of the storage.
        elements: usize,
    },
    /// Copies of a few numbers that would fill the memory.
    #[error("the tensor of shape {0:?} repeats a few numbers until they are larger than the file")]
    Expanded(Vec<usize>),
    /// Bytes and shape disagree.
    #[error("{found} bytes were given for a tensor of {dtype:?} and shape {shape:?}")]
    Length {
        /// Sizes.
        shape: Vec<usize>,
        /// Element type.
        dtype: Dtype,
        /// Bytes given.
        found: usize,
    },
    /// The safetensors crate refused.
    #[error("it is not a good safetensors file: {0}")]
    Safetensors(safetensors::SafeTensorError),
    /// An element type we have no use for.
    #[error("its tensor {tensor} has elements of type {dtype}")]
    SafetensorsDtype {
        /// The tensor.
        tensor: String,
        /// Its type.
        dtype: String,
    },
    /// Not JSON, even leniently, or without a size.
    #[error("it is not the configuration of an XTTS model: {0}")]
    Json(serde_json::Error),
    /// A field that cannot be read: its path, and the reader's words.
    #[error("its field `{0}` cannot be read: {1}")]
    Field(String, String),
    /// A key of a configuration with an impossible value.
    #[error("its key `{key}` should be {expected}, and is {found}")]
    ConfigKey {
        /// The key.
        key: String,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Weights without their configuration.
    #[error("config.json is missing, and the number of attention heads is nowhere else")]
    NoConfig,
    /// A vocabulary that is none.
    #[error("{0}")]
    Vocabulary(String),
    /// A folder without a model.
    #[error("it has no file of model weights")]
    NoModel,
    /// Weights of something else.
    #[error(
        "it has no tensor {missing}, which every such file has (tensors of this part: {found})"
    )]
    NotXtts {
        /// The first name missed.
        missing: String,
        /// How many others there are.
        found: usize,
    },
    /// A tensor of an impossible shape.
    #[error("the tensor has shape {found:?}, and should have {expected}")]
    Shape {
        /// What is there.
        found: Vec<usize>,
        /// What should be.
        expected: String,
    },
    /// Two sources of one number disagree.
    #[error("{what} is {configured} in {by}, and the weights have {found}")]
    Disagree {
        /// The number.
        what: &'static str,
        /// The other source.
        by: &'static str,
        /// Its value.
        configured: usize,
        /// The weights' value.
        found: usize,
    },
    /// A folder of ours in another version.
    #[error("it is in version {0} of our layout, and this program reads version 1")]
    Version(u64),
    /// Not a folder of ours.
    #[error("it does not describe weights of ours: {0}")]
    NotOurs(String),
    /// A file that is not the one that was written.
    #[error(
        "it is not the file that was written: its hash is {found}, and config.json has {expected}"
    )]
    Hash {
        /// What the description says.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The target is taken.
    #[error("it exists already and is not empty")]
    Exists,
    /// Something a public checkpoint needs is not there.
    #[error("the weights have no {0}")]
    Incomplete(&'static str),
}

const AGAIN: &str = "download or copy the file again; if it stays, save it again with torch.save";
const PLAIN: &str = "save the weights alone: torch.save(model.state_dict(), \"model.pth\")";

impl Fault {
    /// What to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Io(_) => {
                "check that the path exists, is readable or writable, and the disk has room"
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
            Self::OldTorch => {
                "save it again with a newer torch: \
                 torch.save(torch.load(\"old.pth\", map_location=\"cpu\"), \"model.pth\")"
            }
            Self::LfsPointer => "fetch the file itself: git lfs pull",
            Self::WebPage => "download the file itself; a login or a licence page is in its place",
            Self::Compressed(_) => {
                "do not repack a torch file; download it again or save it with torch.save"
            }
            Self::BigEndian => "load and save it with torch on a little-endian machine",
            Self::Attack(_) => {
                "nothing was run; delete the file and get the weights from a source you trust"
            }
            Self::Instruction { .. }
            | Self::TooMuch { .. }
            | Self::Object(_)
            | Self::DuplicateName => PLAIN,
            Self::Wrapped(_) => {
                "save plain tensors: tensor.detach().clone() for every entry of the state dict"
            }
            Self::Expanded(_) => {
                "save full tensors: tensor.contiguous() for every entry of the state dict"
            }
            Self::SafetensorsDtype { .. } => {
                "save it as one of F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL"
            }
            Self::Json(_) | Self::Field(..) | Self::ConfigKey { .. } => {
                "correct it, or take the config.json that came with the weights"
            }
            Self::NoConfig => "put the config.json that came with the weights beside them",
            Self::Vocabulary(_) => "take the vocab.json that came with the weights",
            Self::NoModel => {
                "give the folder of model.pth, best_model.pth or checkpoint_STEP.pth, or name the file"
            }
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
            Self::Incomplete("hifigan_decoder") => {
                "a model trained here from nothing speaks with `myxtts synthesize`; the public \
                 package needs the waveform decoder of the weights it was fine-tuned from"
            }
            Self::Incomplete(_) => "import the file it is in, beside model.pth, first",
        }
    }
}
