//! Checkpoints under `runs/NAME/checkpoints/`.
//!
//! ```text
//! checkpoints/
//!   step_000001000/       a checkpoint: appears by one rename, never half
//!     manifest.json       schema, step, and name, size and hash of every file
//!     manifest.b3         hash of manifest.json, so that nothing is unchecked
//!     model.safetensors   whatever the trainer handed over
//!   last.json             {"step": 1000}, for people and tools
//!   best.json             {"step": 1000, "metric": "val_loss", "value": "2.5"}
//!   .tmp-2000-x1Y2z3/     being written, or left behind by a crash
//!   .old-1000-x1Y2z3/     being replaced; put back when its successor never came
//! ```
//!
//! Pointers are small files and not symbolic links, which Windows reserves for
//! administrators. `last.json` is a convenience: [`Store::latest`] trusts the
//! folders, so a crash between the rename and the pointer loses nothing.

mod content;
mod error;
mod manifest;
mod pointer;
mod read;
mod retention;
mod saver;
mod store;
mod sweep;
#[cfg(test)]
mod tests;
mod write;

pub use content::{Content, Snapshot};
pub use error::{CheckpointError, whole_steps};
pub use manifest::{FileEntry, Manifest};
pub use pointer::Best;
pub use read::Checkpoint;
pub use retention::Retention;
pub use saver::{AsyncSaver, Finished, SaverReport, Submitted};
pub use store::{Saved, Store};
pub use sweep::Swept;
