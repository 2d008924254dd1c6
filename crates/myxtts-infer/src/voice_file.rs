//! A voice in a file: `NAME.voice`, version 1.
//!
//! A safetensors file, so that any tool of the field opens it:
//!
//! | tensor | type and shape | holds |
//! |---|---|---|
//! | `gpt_cond_latent` | F32 `(1, n, d)` | what the GPT is conditioned on |
//! | `speaker_embedding` | F32 `(1, c, 1)` | what the waveform decoder is conditioned on; a model without a decoder writes none |
//!
//! | metadata | holds |
//! |---|---|
//! | `format` | `myxtts-voice` |
//! | `version` | `1` |
//! | `latents`, `channels`, `vector` | n, d and c in decimal; c is 0 where there is no `speaker_embedding` |
//! | `model` | 64 hexadecimal digits: the [`Fingerprint`] of the model that heard the voice |
//! | `source` | a JSON array of strings: what it was made from, for people |
//!
//! The tensors have the names and shapes of `speakers_xtts.pth`. Latents mean
//! something only to the weights that made them: another model would speak in
//! some voice, and not in this one. So the fingerprint is compared, and a voice
//! of another model is refused.
//!
//! Enforced while parsing: at most 64 MiB; a valid safetensors file; the format
//! and the version; these tensors and no others, of this type and number of
//! dimensions; sizes that are those of the metadata and not 0; numbers that are
//! finite; a fingerprint of 64 digits; a source that is a list of strings.
//! Other metadata is left alone, so that later versions can add some.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use myxtts_base::report;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use crate::fingerprint::Fingerprint;

const FORMAT: &str = "myxtts-voice";
const VERSION: &str = "1";
/// The GPT's part, under the name of the public implementation.
pub(crate) const LATENTS: &str = "gpt_cond_latent";
/// The decoder's part, under the name of the public implementation.
pub(crate) const VECTOR: &str = "speaker_embedding";
/// The largest file that is read; a released voice has 133 KB.
const LARGEST: u64 = 64 << 20;
/// Headers end on a multiple of this, so that the numbers after them are aligned.
const ALIGNMENT: usize = 8;

/// The contents of a voice file.
#[derive(Clone, Debug, PartialEq)]
pub struct VoiceFile {
    /// The sizes n and d.
    pub(crate) sizes: [usize; 2],
    pub(crate) latents: Vec<f32>,
    pub(crate) vector: Option<Vec<f32>>,
    /// The fingerprint of the weights that made the voice.
    pub(crate) model: Fingerprint,
    /// What the voice was made from, for people to read.
    pub(crate) source: Vec<String>,
}

/// A voice file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}",
    report!(
        "the voice cannot be read: {fault}";
        at: "{}", path.display();
        fix: "name a file that --save-voice wrote, or make it again from recordings of the speaker"
    )
)]
pub struct VoiceFileError {
    /// The path of the file.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub fault: VoiceFault,
}

/// What is wrong with a voice file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VoiceFault {
    /// The operating system refused to read the file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The path is a folder, a pipe or a device.
    #[error("it is not a file")]
    NotAFile,
    /// The file is far larger than any voice.
    #[error("it has {0} bytes, and a voice has at most {LARGEST}")]
    TooLarge(u64),
    /// The file is not safetensors, or is broken.
    #[error("it is not a valid safetensors file: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// The file is safetensors of something else.
    #[error(
        "it is a safetensors file of something else: its metadata has no `format` = `{FORMAT}`"
    )]
    Format,
    /// The file was written by a later version of this program.
    #[error("it is in version {0} of the format, and this program reads version {VERSION}")]
    Version(String),
    /// An entry of the metadata is missing or makes no sense.
    #[error("its metadata `{key}` is {found}, and {needed} is needed")]
    Metadata {
        /// The key of the entry.
        key: &'static str,
        /// The value that was found.
        found: String,
        /// What the value would have to be.
        needed: &'static str,
    },
    /// A tensor is missing.
    #[error("it has no tensor `{0}`")]
    Missing(&'static str),
    /// A tensor is not part of a voice.
    #[error("it has the tensor `{0}`, which is not a part of a voice")]
    Surplus(String),
    /// A tensor has another type or shape.
    #[error("its tensor `{name}` is {found}, and F32 {needed:?} is needed")]
    Tensor {
        /// The name of the tensor.
        name: &'static str,
        /// The type and shape that were found.
        found: String,
        /// The shape that the metadata gives.
        needed: [usize; 3],
    },
    /// A tensor holds infinity, or not a number.
    #[error("its tensor `{0}` has numbers that are not finite")]
    NotFinite(&'static str),
}

impl VoiceFile {
    /// Reads a voice from a file.
    ///
    /// # Errors
    /// Returns an error if it is not a voice; see the module for what is enforced.
    pub fn read(path: &Path) -> Result<Self, VoiceFileError> {
        bytes(path)
            .and_then(|bytes| Self::parse(&bytes))
            .map_err(|fault| VoiceFileError {
                path: path.to_owned(),
                fault,
            })
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// Returns an error if they are not a voice.
    fn parse(bytes: &[u8]) -> Result<Self, VoiceFault> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let metadata = header.metadata().clone().unwrap_or_default();
        if metadata.get("format").map(String::as_str) != Some(FORMAT) {
            return Err(VoiceFault::Format);
        }
        match metadata.get("version").map(String::as_str) {
            Some(VERSION) => {}
            other => return Err(VoiceFault::Version(other.unwrap_or("none").to_owned())),
        }
        let of = |key| Entry::of(&metadata, key);
        let [latents, channels] = [of("latents").size(1)?, of("channels").size(1)?];
        let width = of("vector").size(0)?;
        let model = of("model").model()?;
        let source = of("source").strings()?;
        let tensors = SafeTensors::deserialize(bytes)?;
        let mut names = tensors.names();
        names.sort_unstable();
        if let Some(name) = names
            .into_iter()
            .find(|name| ![LATENTS, VECTOR].contains(name))
        {
            return Err(VoiceFault::Surplus(name.to_owned()));
        }
        let numbers = |name: &'static str, needed: [usize; 3]| match tensors.tensor(name) {
            Ok(view) => numbers(name, &view, needed),
            Err(_) => Err(VoiceFault::Missing(name)),
        };
        let vector = match width {
            0 if tensors.tensor(VECTOR).is_ok() => {
                return Err(VoiceFault::Surplus(VECTOR.to_owned()));
            }
            0 => None,
            width => Some(numbers(VECTOR, [1, width, 1])?),
        };
        Ok(Self {
            sizes: [latents, channels],
            latents: numbers(LATENTS, [1, latents, channels])?,
            vector,
            model,
            source,
        })
    }

    /// Returns the bytes of the file; the same voice always gives the same bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let [latents, channels] = self.sizes;
        let width = self.vector.as_ref().map_or(0, Vec::len);
        let end = self.latents.len() * 4;
        let tensor = |shape: [usize; 3], from: usize, to: usize| json!({ "dtype": "F32", "shape": shape, "data_offsets": [from, to] });
        let mut header = json!({
            "__metadata__": {
                "format": FORMAT,
                "version": VERSION,
                "latents": latents.to_string(),
                "channels": channels.to_string(),
                "vector": width.to_string(),
                "model": self.model.to_string(),
                "source": json!(self.source).to_string(),
            },
            LATENTS: tensor([1, latents, channels], 0, end),
        });
        if width > 0 {
            header[VECTOR] = tensor([1, width, 1], end, end + width * 4);
        }
        let mut text = header.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(ALIGNMENT), b' ');
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.append(&mut text);
        let numbers = self.latents.iter().chain(self.vector.iter().flatten());
        bytes.extend(numbers.flat_map(|number| number.to_le_bytes()));
        bytes
    }

    /// Returns what the voice was made from, for people to read.
    pub fn source(&self) -> &[String] {
        &self.source
    }
}

/// Reads the file, unless it is far too large or not a file: opening a pipe would wait for a
/// writer that may never come.
fn bytes(path: &Path) -> Result<Vec<u8>, VoiceFault> {
    if !fs::metadata(path)?.is_file() {
        return Err(VoiceFault::NotAFile);
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > LARGEST {
        return Err(VoiceFault::TooLarge(length));
    }
    let mut bytes = vec![];
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn numbers(
    name: &'static str,
    view: &TensorView<'_>,
    needed: [usize; 3],
) -> Result<Vec<f32>, VoiceFault> {
    if view.dtype() != Dtype::F32 || view.shape() != needed {
        let found = format!("{:?} {:?}", view.dtype(), view.shape());
        return Err(VoiceFault::Tensor {
            name,
            found,
            needed,
        });
    }
    let (elements, _) = view.data().as_chunks::<4>();
    let numbers: Vec<f32> = elements
        .iter()
        .map(|four| f32::from_le_bytes(*four))
        .collect();
    match numbers.iter().all(|number| number.is_finite()) {
        true => Ok(numbers),
        false => Err(VoiceFault::NotFinite(name)),
    }
}

/// An entry of the metadata.
struct Entry<'a> {
    key: &'static str,
    text: Option<&'a str>,
}

impl<'a> Entry<'a> {
    fn of(metadata: &'a HashMap<String, String>, key: &'static str) -> Self {
        Self {
            key,
            text: metadata.get(key).map(String::as_str),
        }
    }

    fn wrong(&self, needed: &'static str) -> VoiceFault {
        let found = match self.text {
            Some(text) => format!("`{}`", text.chars().take(80).collect::<String>()),
            None => "missing".to_owned(),
        };
        VoiceFault::Metadata {
            key: self.key,
            found,
            needed,
        }
    }

    fn size(&self, least: usize) -> Result<usize, VoiceFault> {
        let size = self.text.and_then(|text| text.parse().ok());
        size.filter(|size| *size >= least)
            .ok_or_else(|| self.wrong("a size"))
    }

    fn model(&self) -> Result<Fingerprint, VoiceFault> {
        let model = self.text.and_then(Fingerprint::parse);
        model.ok_or_else(|| self.wrong("a fingerprint of 64 hexadecimal digits"))
    }

    fn strings(&self) -> Result<Vec<String>, VoiceFault> {
        let strings = self.text.and_then(|text| serde_json::from_str(text).ok());
        strings.ok_or_else(|| self.wrong("a list of strings"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice() -> VoiceFile {
        VoiceFile {
            sizes: [2, 3],
            latents: vec![0.5, -1.0, 2.0, 0.0, 1e-20, 7.0],
            vector: Some(vec![0.6, 0.8]),
            model: Fingerprint::from([7; 32]),
            source: vec!["anna.wav".to_owned(), "آنا.wav".to_owned()],
        }
    }

    /// A file whose header was changed as text.
    fn changed(from: &str, to: &str) -> Vec<u8> {
        let bytes = voice().bytes();
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
        assert!(header.contains(from), "{header}");
        let mut header = header.replace(from, to).trim_end().to_owned().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        file.extend(&bytes[8 + length..]);
        file
    }

    #[test]
    fn a_voice_comes_back_bit_for_bit() {
        for voice in [
            voice(),
            VoiceFile {
                vector: None,
                ..voice()
            },
        ] {
            let bytes = voice.bytes();
            assert_eq!(VoiceFile::parse(&bytes).unwrap(), voice);
            assert_eq!(voice.bytes(), bytes);
        }
    }

    #[test]
    fn later_metadata_is_left_alone() {
        let later = changed(r#""format":"#, r#""mood":"glad","format":"#);
        assert_eq!(VoiceFile::parse(&later).unwrap(), voice());
    }

    /// Each malformed file by name, with what is said of it.
    #[test]
    fn malformed_files() {
        let whole = voice().bytes();
        let infinite = {
            let mut bytes = whole.clone();
            let at = bytes.len() - 4;
            bytes[at..].copy_from_slice(&f32::INFINITY.to_le_bytes());
            bytes
        };
        let files = [
            ("empty", vec![]),
            ("header_cut_short", whole[..20].to_vec()),
            ("numbers_cut_short", whole[..whole.len() - 4].to_vec()),
            (
                "header_of_a_terabyte",
                [&(1_u64 << 40).to_le_bytes()[..], &whole[8..]].concat(),
            ),
            ("not_safetensors", b"RIFF....WAVEfmt ".to_vec()),
            ("of_something_else", changed(FORMAT, "weights")),
            (
                "of_a_later_version",
                changed(r#""version":"1""#, r#""version":"2""#),
            ),
            ("without_a_version", changed(r#""version""#, r#""fashion""#)),
            (
                "size_is_not_a_number",
                changed(r#""latents":"2""#, r#""latents":"two""#),
            ),
            (
                "size_is_zero",
                changed(r#""channels":"3""#, r#""channels":"0""#),
            ),
            (
                "size_of_another_tensor",
                changed(r#""latents":"2""#, r#""latents":"3""#),
            ),
            (
                "vector_that_is_not_announced",
                changed(r#""vector":"2""#, r#""vector":"0""#),
            ),
            ("fingerprint_too_short", changed("0707", "07")),
            (
                "source_is_not_a_list",
                changed(r#""source":"["#, r#""source":"{"#),
            ),
            (
                "tensor_missing",
                changed(r#""gpt_cond_latent""#, r#""gpt_cond_latend""#),
            ),
            (
                "tensor_of_another_type",
                changed(
                    r#""dtype":"F32","shape":[1,2,3]"#,
                    r#""dtype":"I32","shape":[1,2,3]"#,
                ),
            ),
            ("tensor_of_another_shape", changed("[1,2,3]", "[1,3,2]")),
            ("offsets_that_overlap", changed("[24,32]", "[20,28]")),
            ("numbers_that_are_infinite", infinite),
        ];
        let said = files.map(|(name, bytes)| {
            let fault = VoiceFile::parse(&bytes).expect_err(name);
            format!("{name}: {fault}")
        });
        insta::assert_snapshot!(said.join("\n"));
    }

    /// Whatever byte is changed: an error, or another voice; never a panic.
    #[test]
    fn any_byte_may_be_wrong() {
        let whole = voice().bytes();
        for at in 0..whole.len() {
            for byte in [0, b'"', 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                let _ = VoiceFile::parse(&bytes);
            }
        }
    }
}
