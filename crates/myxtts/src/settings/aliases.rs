//! Keys of older trainers' files, and what they meant.

use myxtts_config::{Alias, Meaning};

const GRAPH_MODE: &str = "training.enable_graph_mode";

pub(super) const ALIASES: &[Alias] = &[
    Alias {
        name: "data.enable_xla",
        meaning: Meaning::Same(GRAPH_MODE),
    },
    Alias {
        name: "training.enable_xla_compilation",
        meaning: Meaning::Same(GRAPH_MODE),
    },
    Alias {
        name: "training.enable_eager_debug",
        meaning: Meaning::Not(GRAPH_MODE),
    },
    Alias {
        name: "data.pad_to_fixed_length",
        meaning: Meaning::Same("data.static_shapes"),
    },
    Alias {
        name: "data.enhanced_gpu_prefetch",
        meaning: Meaning::Same("data.prefetch_to_gpu"),
    },
    Alias {
        name: "data.normalize_audio",
        meaning: Meaning::Words {
            key: "data.normalize",
            yes: "loudness",
            no: "none",
        },
    },
    Alias {
        name: "data.mixed_precision",
        meaning: Meaning::Words {
            key: "training.precision",
            yes: "auto",
            no: "f32",
        },
    },
    Alias {
        name: "data.use_tf_native_loading",
        meaning: Meaning::AlwaysOn {
            why: "the native loader is the only one, and it is always on",
        },
    },
];
