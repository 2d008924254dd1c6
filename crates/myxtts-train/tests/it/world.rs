//! Some of the sample corpus, prepared once for all tests.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

use burn::tensor::Device;
use myxtts_audio::units::Samples;
use myxtts_audio::{AudioConfig, Limits};
use myxtts_data::codes::{CodesCache, CodesSource};
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::host_stage::{Clip, ClipSource, HostFeed, HostStage, HostStageConfig, Segments};
use myxtts_data::layout::Split;
use myxtts_data::prepare::{Request, Settings, prepare, unwatched};
use myxtts_data::sample_corpus::unpack;
use myxtts_data::schedule::{ClipLength, ConditioningSpec, Schedule, choose_buckets};
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::init::Init;
use myxtts_testkit::SharedFolder;
use myxtts_text::{CleanOptions, Vocabulary};
use myxtts_train::feed::{DeviceFeed, FrontEnd, ShapeTracker, codes_source};

/// Short, to keep the test fast.
pub(crate) const CONDITIONING: ConditioningSpec = ConditioningSpec {
    min: Samples(11_025),
    max: Samples(22_050),
};
pub(crate) const SMALL: DvaeConfig = DvaeConfig {
    hidden: 16,
    codes: 32,
    codebook_dim: 16,
    ..DvaeConfig::TINY
};

pub(crate) struct World {
    _folder: SharedFolder,
    pub(crate) clips: Arc<[Clip]>,
    pub(crate) lengths: Vec<ClipLength>,
    pub(crate) contents: Vec<Option<[u8; 32]>>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) corpus: Corpus,
}

pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = SharedFolder::new(env!("CARGO_TARGET_TMPDIR"), "world");
    let (dataset, out) = (folder.path().join("corpus"), folder.path().join("out"));
    unpack(&dataset).unwrap();
    // Both voices, and few enough to be quick.
    let list = dataset.join("metadata.csv");
    let text = std::fs::read_to_string(&list).unwrap();
    let some: Vec<&str> = text.lines().skip(320 - 56).take(112).collect();
    std::fs::write(&list, some.join("\n")).unwrap();
    let request = Request {
        dataset,
        out: out.clone(),
        vocabulary: None,
        next: vec![],
        workers: NonZeroUsize::new(2).unwrap(),
        settings: Settings::default(),
    };
    prepare(&request, &mut unwatched).unwrap();
    let vocabulary = train_vocabulary(&out).unwrap();
    let corpus = Corpus::read(&out, Split::Train, &vocabulary).unwrap();
    let shapes = choose_buckets(&corpus.lengths, 3);
    World {
        schedule: Arc::new(Schedule::new(&corpus.lengths, &shapes, 8, 1, 5).unwrap()),
        clips: corpus.clips.clone().into(),
        lengths: corpus.lengths.clone(),
        contents: corpus.contents.clone(),
        corpus,
        vocabulary: Arc::new(vocabulary),
        _folder: folder,
    }
});

pub(crate) fn dvae(seed: u64) -> Dvae {
    Dvae::new(&Init::new(seed, &Device::flex()), &SMALL).unwrap()
}

pub(crate) fn source(seed: u64) -> CodesSource {
    codes_source(&dvae(seed), &FrontEnd::XTTS, &AudioConfig::default()).unwrap()
}

pub(crate) fn in_memory() -> Arc<CodesCache> {
    Arc::new(CodesCache::in_memory(WORLD.contents.clone(), source(3)))
}

/// The host stage over any clips.
pub(crate) fn stage<C: ClipSource>(clips: C, conditioning: ConditioningSpec) -> HostStage<C> {
    let config = HostStageConfig {
        audio: AudioConfig::default(),
        limits: Limits::default(),
        text: CleanOptions::default(),
        conditioning,
        segments: Segments::Drawn { seed: 5 },
    };
    HostStage::new(clips, WORLD.vocabulary.clone(), config)
}

pub(crate) fn host(codes: Option<Arc<CodesCache>>) -> HostFeed<Arc<[Clip]>> {
    let stage = stage(WORLD.clips.clone(), CONDITIONING);
    HostFeed::new(stage, WORLD.schedule.clone(), codes).unwrap()
}

pub(crate) fn device(codes: Option<Arc<CodesCache>>, tracker: Arc<ShapeTracker>) -> DeviceFeed {
    DeviceFeed::new(&Device::flex(), dvae(3), &FrontEnd::XTTS, true, tracker)
        .unwrap()
        .keeping(codes)
}
