//! Folders of files: the public ones and ours.

mod folder;
mod ours;
mod public;

pub use ours::{
    Described, OursDescription, OursFiles, Outgoing, describe_ours, read_ours, read_speakers,
    write_ours,
};
pub use public::{read_public, write_public};

const VOCABULARY: &str = "vocab.json";
const CONFIG: &str = "config.json";
/// The name of the mel statistics inside a state dict and in our file.
const MEL_STATS: &str = "mel_stats";
