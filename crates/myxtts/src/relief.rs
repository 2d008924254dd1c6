//! The one edit of a configuration that frees most of a device's memory.
//!
//! The plan decides what nobody chose; this tells the person what is theirs to change: when
//! another program needs some of the memory, or a budget is to be smaller.

use std::fmt;

use myxtts_base::MEGABYTE;
use myxtts_config::units::Megabytes;
use myxtts_device::{DeviceMemory, MomentBits, Savings, Share, Workload};
use serde::Serialize;

/// An edit, and what it would free by the same estimate as the plan's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Relief {
    device: String,
    edit: String,
    frees_mb: Megabytes,
}

impl Relief {
    /// Returns the edit that frees most of a device that trains; `None` where none frees a
    /// megabyte.
    pub(crate) fn of(memory: &DeviceMemory, workload: &dyn Workload) -> Option<Self> {
        let needed = workload.needs(&memory.share).total();
        let edits = edits(&memory.share, workload).into_iter();
        let freed = edits.map(|(edit, share)| {
            let freed = needed.saturating_sub(workload.needs(&share).total());
            (freed / MEGABYTE, edit)
        });
        let (freed, edit) = freed.max_by_key(|(freed, _)| *freed)?;
        (freed > 0).then(|| Self {
            device: memory.device.clone(),
            edit,
            frees_mb: Megabytes(freed),
        })
    }
}

/// Returns the edits that there are, each with the share of the work that it leaves. Those that
/// change no number come first, and win where two free the same.
fn edits(share: &Share, workload: &dyn Workload) -> Vec<(String, Share)> {
    let longest = workload.longest().mel_frames;
    let saving = |savings| Share { savings, ..*share };
    let edits = [
        (!share.savings.recompute && share.trains).then(|| {
            let edit = "--set training.recompute=blocks".to_owned();
            let savings = Savings {
                recompute: true,
                ..share.savings
            };
            (edit, saving(savings))
        }),
        (share.savings.moments == MomentBits::F32 && share.trains).then(|| {
            let edit = "--set training.moments=int8".to_owned();
            let savings = Savings {
                moments: MomentBits::Int8,
                ..share.savings
            };
            (edit, saving(savings))
        }),
        (share.batch_size > 1).then(|| {
            let (rows, batches) = (share.batch_size.div_ceil(2), share.accumulation * 2);
            let edit = format!("--batch-size {rows} --grad-accum {batches}");
            let share = Share {
                batch_size: rows,
                accumulation: batches,
                ..*share
            };
            (edit, share)
        }),
        (longest > 1).then(|| {
            let frames = longest - longest / 4;
            let share = Share {
                mel_frames: Some(frames),
                ..*share
            };
            (format!("--max-mel-frames {frames}"), share)
        }),
    ];
    // The last of equal ones is taken.
    edits.into_iter().flatten().rev().collect()
}

impl fmt::Display for Relief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            edit,
            frees_mb,
        } = self;
        write!(
            f,
            "{device}: {edit} would free most, {frees_mb}, by the same estimate"
        )
    }
}

#[cfg(test)]
mod tests {
    use myxtts_device::{ClipsPerStep, LongestShape, MemoryNeeds, Precision, Verdict};

    use super::*;

    /// So many bytes of moments, and so many of activations for each row and frame.
    #[derive(Debug)]
    struct Fake {
        moments: u64,
        row: u64,
    }

    impl Workload for Fake {
        fn needs(&self, share: &Share) -> MemoryNeeds {
            let frames = u64::from(share.mel_frames.unwrap_or(100));
            let row = self.row * frames / 100;
            MemoryNeeds {
                moments: match share.savings.moments {
                    MomentBits::F32 => self.moments,
                    MomentBits::Int8 => self.moments / 4,
                },
                activations: u64::from(share.batch_size)
                    * match share.savings.recompute {
                        true => row / 8,
                        false => row,
                    },
                ..MemoryNeeds::default()
            }
        }

        fn longest(&self) -> LongestShape {
            LongestShape {
                mel_frames: 100,
                ..LongestShape::default()
            }
        }

        fn clips(&self, _: u32, _: u32) -> Option<ClipsPerStep> {
            None
        }
    }

    fn relief(moments: u64, row: u64, savings: Savings) -> Option<String> {
        let share = Share {
            trains: true,
            prepares: true,
            has_copies: false,
            is_host: false,
            batch_size: 4,
            accumulation: 2,
            ring: 1,
            in_flight: 1,
            host_ring: Megabytes(0),
            precision: Precision::F32,
            savings,
            mel_frames: None,
        };
        let memory = DeviceMemory {
            device: "GPU 0".to_owned(),
            logical: 0,
            share,
            needs: MemoryNeeds::default(),
            needed_mb: Megabytes(0),
            memory_mb: None,
            budget: None,
            verdict: Verdict::Unknown,
        };
        let megabytes = Fake {
            moments: moments * MEGABYTE,
            row: row * MEGABYTE,
        };
        Relief::of(&memory, &megabytes).map(|relief| relief.to_string())
    }

    #[test]
    fn the_edit_that_frees_most_is_named() {
        let says = |words: &str| Some(format!("GPU 0: {words}, by the same estimate"));
        assert_eq!(
            relief(400, 1000, Savings::NONE),
            says("--set training.recompute=blocks would free most, 3500 MB")
        );
        assert_eq!(
            relief(4000, 10, Savings::NONE),
            says("--set training.moments=int8 would free most, 3000 MB")
        );
        let all = Savings {
            recompute: true,
            moments: MomentBits::Int8,
            ..Savings::NONE
        };
        assert_eq!(
            relief(400, 800, all),
            says("--batch-size 2 --grad-accum 4 would free most, 200 MB")
        );
        assert_eq!(relief(0, 0, all), None);
    }
}
