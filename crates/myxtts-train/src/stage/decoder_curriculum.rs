//! How the decoder's stage goes: by spectra alone, discriminators first, or all at once.

use myxtts_model::ModelSize;

use super::stage_plan::lr_warmup_steps;
use crate::objective::DecoderCurriculum;
use crate::session::Optimization;
use crate::session::saving::Found;

/// The most steps in which new discriminators learn before a decoder that can speak already
/// moves. `GENTLE` is what its learning rate is then divided by.
const DISCRIMINATOR_ALONE: u64 = 500;
const GENTLE: f64 = 4.0;

/// Decides the course of the stage. A decoder that can speak would unlearn it from discriminators
/// that know nothing yet: they learn first, and it moves in small steps.
pub(super) fn curriculum(
    optimization: &Optimization,
    size: ModelSize,
    found: Found,
    steps: u64,
) -> DecoderCurriculum {
    let rate = optimization.decoder_learning_rate;
    let spectral = match optimization.decoder_spectral_steps {
        Some(chosen) => chosen,
        // This is for a CPU, where steps with discriminators cost by far the most.
        None if size == ModelSize::Tiny && !found.decoder => steps,
        None => 0,
    };
    let discriminator = match optimization.discriminator_warmup_steps {
        Some(chosen) => chosen,
        None if found.decoder && !found.discriminator => DISCRIMINATOR_ALONE.min(steps / 10),
        None => 0,
    };
    let own = match optimization.generator_learning_rate {
        Some(chosen) => chosen,
        None if found.decoder => rate / GENTLE,
        None => rate,
    };
    DecoderCurriculum {
        spectral,
        discriminator,
        rise: lr_warmup_steps(optimization, steps),
        generator_lr_scale: own / rate,
    }
}

/// Describes the course for the log.
pub(super) fn curriculum_words(curriculum: &DecoderCurriculum, steps: u64) -> String {
    let spectral = curriculum.spectral.min(steps);
    let discriminator = curriculum.discriminator.min(steps - spectral);
    let both = steps - spectral - discriminator;
    let parts = [
        (spectral, "of the decoder by spectra alone"),
        (discriminator, "of the discriminators alone"),
        (both, "of both"),
    ];
    let parts = parts.iter().filter(|(steps, _)| *steps > 0);
    let parts: Vec<String> = parts
        .map(|(steps, what)| format!("{steps} {what}"))
        .collect();
    let pace = match curriculum.generator_lr_scale {
        1.0 => String::new(),
        pace => format!("; the decoder takes {pace} of the learning rate"),
    };
    format!("decoder steps: {}{pace}", parts.join(", then "))
}

#[cfg(test)]
mod tests {
    use myxtts_run::guard::SpikeAction;

    use super::*;
    use crate::config::ScheduleKind;
    use crate::optim::AdamWConfig;

    /// What each key changes is in `curriculum`; what each part of it does, in the tests of the
    /// objective.
    #[test]
    fn the_course_follows_what_was_found() {
        let nothing = Found::default();
        let decoder = Found {
            decoder: true,
            discriminator: false,
        };
        let both = Found {
            decoder: true,
            discriminator: true,
        };
        let (plain, small) = (optimization(), ModelSize::Small);
        let tiny = |found| curriculum(&plain, ModelSize::Tiny, found, 700).spectral;
        assert_eq!((tiny(nothing), tiny(decoder)), (700, 0));
        assert_eq!(
            curriculum(&plain, small, nothing, 2000),
            DecoderCurriculum {
                rise: 100,
                ..DecoderCurriculum::default()
            }
        );
        let course = |found, steps| {
            let curriculum = curriculum(&plain, small, found, steps);
            (
                curriculum.spectral,
                curriculum.discriminator,
                curriculum.rise,
                curriculum.generator_lr_scale,
            )
        };
        assert_eq!(course(decoder, 20_000), (0, 500, 100, 0.25));
        assert_eq!(course(decoder, 2000), (0, 200, 100, 0.25));
        assert_eq!(course(both, 2000), (0, 0, 100, 0.25));
        let chosen = Optimization {
            decoder_spectral_steps: Some(7),
            discriminator_warmup_steps: Some(0),
            generator_learning_rate: Some(2e-4),
            ..plain
        };
        let found = curriculum(&chosen, small, decoder, 2000);
        assert_eq!((found.spectral, found.discriminator), (7, 0));
        assert!((found.generator_lr_scale - 1.0).abs() < 1e-12);
        insta::assert_snapshot!(
            [
                curriculum_words(&curriculum(&plain, small, nothing, 2000), 2000),
                curriculum_words(&curriculum(&plain, small, decoder, 2000), 2000),
                curriculum_words(&curriculum(&chosen, small, decoder, 2000), 2000),
                curriculum_words(&curriculum(&chosen, small, decoder, 5), 5),
            ]
            .join("\n")
        );
    }

    fn optimization() -> Optimization {
        Optimization {
            learning_rate: 1e-3,
            dvae_learning_rate: 1e-3,
            decoder_learning_rate: 2e-4,
            generator_learning_rate: None,
            decoder_spectral_steps: None,
            discriminator_warmup_steps: None,
            schedule: ScheduleKind::Cosine,
            warmup_steps: 100,
            warmup_chosen: false,
            gradient_clip: 1.0,
            label_smoothing: 0.0,
            dropout: None,
            ema_decay: 0.0,
            adamw: AdamWConfig::default(),
            spikes: SpikeAction::Log,
            bad_steps: 1,
            patience: 0,
        }
    }
}
