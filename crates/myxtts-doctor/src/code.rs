//! The codes of findings. They are never translated.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a rule and of its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "each rule's file says what its code means")]
pub enum Code {
    DataLoading,
    SlowStorage,
    SlowDecode,
    DevicePrep,
    GpuTransfer,
    Oscillation,
    UnderutilizedGpu,
    LaunchBound,
    Padding,
    Recompiling,
    SyncPoints,
    Pauses,
    BatchTooSmall,
    MemoryHeadroom,
    MemoryEdge,
    TooManyWorkers,
    LowWorkers,
    Throttling,
    PcieLink,
    RankSkew,
    Collective,
    MixedPrecisionOff,
    FusionOff,
    StaticShapesOff,
    CacheOff,
    SplitNotWorthIt,
    NoGpusDetected,
    BackendUnavailable,
    LowGpuMemory,
    DataQuality,
}

impl Code {
    /// All codes, in the order of their table.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 30] = [
        Self::DataLoading,
        Self::SlowStorage,
        Self::SlowDecode,
        Self::DevicePrep,
        Self::GpuTransfer,
        Self::Oscillation,
        Self::UnderutilizedGpu,
        Self::LaunchBound,
        Self::Padding,
        Self::Recompiling,
        Self::SyncPoints,
        Self::Pauses,
        Self::BatchTooSmall,
        Self::MemoryHeadroom,
        Self::MemoryEdge,
        Self::TooManyWorkers,
        Self::LowWorkers,
        Self::Throttling,
        Self::PcieLink,
        Self::RankSkew,
        Self::Collective,
        Self::MixedPrecisionOff,
        Self::FusionOff,
        Self::StaticShapesOff,
        Self::CacheOff,
        Self::SplitNotWorthIt,
        Self::NoGpusDetected,
        Self::BackendUnavailable,
        Self::LowGpuMemory,
        Self::DataQuality,
    ];

    /// Returns the name as reports and JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DataLoading => "DATA_LOADING",
            Self::SlowStorage => "SLOW_STORAGE",
            Self::SlowDecode => "SLOW_DECODE",
            Self::DevicePrep => "DEVICE_PREP",
            Self::GpuTransfer => "GPU_TRANSFER",
            Self::Oscillation => "OSCILLATION",
            Self::UnderutilizedGpu => "UNDERUTILIZED_GPU",
            Self::LaunchBound => "LAUNCH_BOUND",
            Self::Padding => "PADDING",
            Self::Recompiling => "RECOMPILING",
            Self::SyncPoints => "SYNC_POINTS",
            Self::Pauses => "PAUSES",
            Self::BatchTooSmall => "BATCH_TOO_SMALL",
            Self::MemoryHeadroom => "MEMORY_HEADROOM",
            Self::MemoryEdge => "MEMORY_EDGE",
            Self::TooManyWorkers => "TOO_MANY_WORKERS",
            Self::LowWorkers => "LOW_WORKERS",
            Self::Throttling => "THROTTLING",
            Self::PcieLink => "PCIE_LINK",
            Self::RankSkew => "RANK_SKEW",
            Self::Collective => "COLLECTIVE",
            Self::MixedPrecisionOff => "MIXED_PRECISION_OFF",
            Self::FusionOff => "FUSION_OFF",
            Self::StaticShapesOff => "STATIC_SHAPES_OFF",
            Self::CacheOff => "CACHE_OFF",
            Self::SplitNotWorthIt => "SPLIT_NOT_WORTH_IT",
            Self::NoGpusDetected => "NO_GPUS_DETECTED",
            Self::BackendUnavailable => "BACKEND_UNAVAILABLE",
            Self::LowGpuMemory => "LOW_GPU_MEMORY",
            Self::DataQuality => "DATA_QUALITY",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_name_are_one() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
    }
}
