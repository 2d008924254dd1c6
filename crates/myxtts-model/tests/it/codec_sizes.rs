//! Parameter counts: the released model's, and that the counts are what is made.

use burn::module::Module;
use burn::tensor::Device;
use myxtts_model::dvae::{Dvae, DvaeConfig, DvaeParameters};
use myxtts_model::hifigan::{Discriminator, DiscriminatorConfig, HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params;
use myxtts_model::speaker::{SpeakerConfig, SpeakerEncoder};

#[test]
fn released_sizes() {
    assert_eq!(
        DvaeConfig::RELEASED.parameters(),
        DvaeParameters {
            encoder: 24_251_392,
            decoder: 27_315_792,
            codebook: 524_288,
        }
    );
    assert_eq!(HifiganConfig::released().parameters(), 17_827_808);
    assert_eq!(SpeakerConfig::RELEASED.parameters(), 8_028_492);
}

#[test]
fn counts_are_what_is_made() {
    let init = Init::new(1, &Device::flex());
    let two = DvaeConfig {
        hidden: 8,
        codes: 16,
        codebook_dim: 6,
        ..DvaeConfig::RELEASED
    };
    let plain = DvaeConfig {
        resnet_blocks: 0,
        layers: 3,
        ..two
    };
    for config in [two, plain] {
        let made = Dvae::new(&init, &config).unwrap();
        let counted = config.parameters();
        assert_eq!(made.encoder.num_params(), counted.encoder);
        assert_eq!(made.decoder.num_params(), counted.decoder);
        assert_eq!(made.codebook.embed.num_params(), counted.codebook);
    }
    for in_each_stage in [true, false] {
        let config = HifiganConfig {
            speaker_in_each_stage: in_each_stage,
            ..HifiganConfig::tiny(24, 12)
        };
        let made = HifiganDecoder::new(&init, &config).unwrap();
        assert_eq!(made.num_params(), config.parameters());
    }
    let discriminator = DiscriminatorConfig::tiny();
    let made = Discriminator::new(&init, &discriminator).unwrap();
    assert_eq!(made.num_params(), discriminator.parameters());
    let config = SpeakerConfig::TINY;
    let made = SpeakerEncoder::new(&init, &config).unwrap();
    let statistics: usize = params::state_dict(&made)
        .unwrap()
        .iter()
        .filter(|(name, _)| name.contains("running_"))
        .map(|(_, data)| data.shape().num_elements())
        .sum();
    assert_eq!(made.num_params() - statistics, config.parameters());
}

#[test]
fn impossible_sizes_are_refused_in_words() {
    let init = Init::new(1, &Device::flex());
    let mut words = vec![];
    for config in [
        DvaeConfig {
            codes: 0,
            ..DvaeConfig::TINY
        },
        DvaeConfig {
            layers: 0,
            ..DvaeConfig::TINY
        },
        DvaeConfig {
            kernel: 4,
            ..DvaeConfig::TINY
        },
    ] {
        words.push(Dvae::new(&init, &config).unwrap_err().to_string());
    }
    let base = HifiganConfig::tiny(8, 8);
    for config in [
        HifiganConfig {
            upsample_kernels: vec![16, 16, 4],
            ..base.clone()
        },
        HifiganConfig {
            resblock_kernels: vec![3, 7],
            ..base.clone()
        },
        HifiganConfig {
            upsample_kernels: vec![16, 16, 4, 3],
            ..base.clone()
        },
        HifiganConfig {
            resblock_kernels: vec![3, 7, 8],
            ..base.clone()
        },
        HifiganConfig {
            channels: 8,
            ..base.clone()
        },
        HifiganConfig {
            latent_dim: 0,
            ..base
        },
    ] {
        words.push(HifiganDecoder::new(&init, &config).unwrap_err().to_string());
    }
    let base = DiscriminatorConfig::tiny();
    for config in [
        DiscriminatorConfig {
            periods: vec![],
            scales: 0,
            ..base.clone()
        },
        DiscriminatorConfig {
            periods: vec![2, 0],
            ..base.clone()
        },
        DiscriminatorConfig {
            scale_channels: 20,
            ..base
        },
    ] {
        words.push(Discriminator::new(&init, &config).unwrap_err().to_string());
    }
    for config in [
        SpeakerConfig {
            bands: 63,
            ..SpeakerConfig::TINY
        },
        SpeakerConfig {
            filters: [4, 8, 8, 8],
            ..SpeakerConfig::TINY
        },
        SpeakerConfig {
            blocks: [1, 0, 1, 1],
            ..SpeakerConfig::TINY
        },
    ] {
        words.push(SpeakerEncoder::new(&init, &config).unwrap_err().to_string());
    }
    insta::assert_snapshot!(words.join("\n"));
}
