//! Checks the DVAE: its bounds, and its sizes against its tensors.

use myxtts_model::dvae::DvaeConfig;
use myxtts_weights::TensorMap;

use super::rules::{LARGEST, at_most, same};
use super::{CardFault, Shapes};
use crate::error::InferError;

/// Checks the bounds that hold with or without tensors.
pub(super) fn check(dvae: &DvaeConfig) -> Result<(), InferError> {
    dvae.check().map_err(|why| {
        CardFault::new(format!("dvae.{}", why.key), why.value, {
            format!("{} is needed", why.needed)
        })
    })?;
    for (field, size) in [
        ("dvae.channels", dvae.channels),
        ("dvae.hidden", dvae.hidden),
        ("dvae.resnet_blocks", dvae.resnet_blocks),
        ("dvae.kernel", dvae.kernel),
        ("dvae.codes", dvae.codes),
        ("dvae.codebook_dim", dvae.codebook_dim),
    ] {
        at_most(field, size, LARGEST)?;
    }
    Ok(())
}

/// Compares the sizes with those of the tensors.
pub(super) fn check_tensors(dvae: &DvaeConfig, tensors: &TensorMap) -> Result<(), InferError> {
    let found = dvae_of(tensors)?;
    let DvaeConfig {
        channels,
        hidden,
        layers,
        resnet_blocks,
        kernel,
        codes,
        codebook_dim,
    } = *dvae;
    let first = "encoder.0.0.weight of the DVAE";
    let book = "codebook.embed of the DVAE";
    same("dvae.hidden", hidden, found.hidden, first)?;
    same("dvae.channels", channels, found.channels, first)?;
    same("dvae.kernel", kernel, found.kernel, first)?;
    same("dvae.codebook_dim", codebook_dim, found.codebook_dim, book)?;
    same("dvae.codes", codes, found.codes, book)?;
    let all = "encoder.* of the DVAE";
    same("dvae.layers", layers, found.layers, all)?;
    same(
        "dvae.resnet_blocks",
        resnet_blocks,
        found.resnet_blocks,
        all,
    )
}

/// Returns the sizes that follow from the tensors of a DVAE.
pub(crate) fn dvae_of(tensors: &TensorMap) -> Result<DvaeConfig, InferError> {
    let shape = Shapes {
        part: "DVAE",
        tensors,
    };
    let [hidden, channels, kernel] = shape.of("encoder.0.0.weight")?;
    let [codebook_dim, codes] = shape.of("codebook.embed")?;
    let with = |suffix: &str| {
        let names = tensors.names().filter(|name| {
            let inner = name.strip_prefix("encoder.");
            inner
                .and_then(|name| name.split_once('.'))
                .is_some_and(|(_, rest)| rest == suffix)
        });
        names.count()
    };
    Ok(DvaeConfig {
        channels,
        hidden,
        layers: with("0.weight"),
        resnet_blocks: with("net.0.weight"),
        kernel,
        codes,
        codebook_dim,
    })
}
