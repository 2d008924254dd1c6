//! The names a pickle may use, and what they stand for.

use crate::error::Fault;
use crate::tensor::Dtype;

/// What a global stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::torch) enum Known {
    /// `OrderedDict` and `defaultdict`, which make a dictionary.
    Dict,
    /// `torch.Size`, which makes its tuple.
    Size,
    /// `_rebuild_tensor` and `_rebuild_tensor_v2`: typed storage, offset, sizes, strides.
    RebuildTensor,
    /// `_rebuild_tensor_v3`: bytes, offset, sizes, strides, ..., element type.
    RebuildTensorV3,
    /// The functions that wrap a tensor in a parameter.
    RebuildParameter,
    /// A storage class; `None` holds bytes of no type.
    Storage(Option<Dtype>),
    /// `torch.float32` and the like.
    Dtype(Dtype),
    /// Anything else, kept by name and never used.
    Unknown(String),
}

/// Modules whose functions act on the machine. Nothing is called here either way; a
/// file that names them was made to harm whoever loads it with Python, and its
/// owner should know.
const ATTACKS: [&str; 14] = [
    "os",
    "posix",
    "nt",
    "subprocess",
    "pty",
    "sys",
    "socket",
    "shutil",
    "runpy",
    "ctypes",
    "importlib",
    "webbrowser",
    "code",
    "_posixsubprocess",
];
const BUILTIN_ATTACKS: [&str; 6] = ["eval", "exec", "compile", "open", "__import__", "execfile"];

impl Known {
    pub(super) fn named(module: &str, name: &str) -> Result<Self, Fault> {
        let global = || format!("{module}.{name}");
        let root = module.split('.').next().unwrap_or(module);
        let builtin = root == "builtins" || root == "__builtin__";
        if ATTACKS.contains(&root) || builtin && BUILTIN_ATTACKS.contains(&name) {
            return Err(Fault::Attack(global()));
        }
        let known = match (module, name) {
            ("collections", "OrderedDict" | "defaultdict") => Self::Dict,
            ("builtins" | "__builtin__", "dict") => Self::Dict,
            ("torch", "Size") => Self::Size,
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_tensor_v3") => Self::RebuildTensorV3,
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                Self::RebuildParameter
            }
            ("torch" | "torch.storage", "UntypedStorage" | "_UntypedStorage") => {
                Self::Storage(None)
            }
            ("torch" | "torch.cuda", storage) if storage_dtype(storage).is_some() => {
                Self::Storage(storage_dtype(storage))
            }
            ("torch", dtype) => match torch_dtype(dtype) {
                Some(dtype) => Self::Dtype(dtype),
                None => Self::Unknown(global()),
            },
            _ => Self::Unknown(global()),
        };
        Ok(known)
    }
}

/// Returns the storage class of an element type.
pub(super) fn storage_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "DoubleStorage",
        Dtype::F32 => "FloatStorage",
        Dtype::F16 => "HalfStorage",
        Dtype::BF16 => "BFloat16Storage",
        Dtype::I64 => "LongStorage",
        Dtype::I32 => "IntStorage",
        Dtype::I16 => "ShortStorage",
        Dtype::I8 => "CharStorage",
        Dtype::U8 => "ByteStorage",
        Dtype::Bool => "BoolStorage",
    }
}

fn storage_dtype(name: &str) -> Option<Dtype> {
    Dtype::ALL
        .into_iter()
        .find(|dtype| storage_name(*dtype) == name)
}

fn torch_dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "float64" => Dtype::F64,
        "float32" => Dtype::F32,
        "float16" => Dtype::F16,
        "bfloat16" => Dtype::BF16,
        "int64" => Dtype::I64,
        "int32" => Dtype::I32,
        "int16" => Dtype::I16,
        "int8" => Dtype::I8,
        "uint8" => Dtype::U8,
        "bool" => Dtype::Bool,
        _ => return None,
    })
}
