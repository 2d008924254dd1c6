//! Memory budgets per device.

use myxtts_config::units::Megabytes;

use super::{PlanError, PlanRequest, PlannedDevice, Record};

const DATA_KEY: &str = "data.data_gpu_memory";
const MODEL_KEY: &str = "data.model_gpu_memory";

/// How much memory each sort of work may hold under memory isolation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budgets {
    pub(super) data: Megabytes,
    pub(super) model: Megabytes,
}

/// Sets the budget of every device. Without isolation a device may use all it
/// has, which the plan states where it is known.
pub(super) fn assign(
    request: &PlanRequest,
    budgets: Option<Budgets>,
    data: &mut PlannedDevice,
    models: &mut [PlannedDevice],
    record: &mut Record,
) -> Result<(), PlanError> {
    let Some(budgets) = budgets else {
        record.because("memory isolation is off: each device may use all its memory");
        return Ok(());
    };
    let shared = models.iter().any(|model| model.physical == data.physical);
    if shared {
        for model in models.iter_mut() {
            let (data_share, model_share) = share(request, budgets, model, record)?;
            model.memory_budget_mb = Some(model_share);
            // Mirrored replicas each hold a data share of their own; the first
            // stands for all.
            if model.physical == data.physical {
                data.memory_budget_mb = Some(data_share);
            }
        }
        return Ok(());
    }
    data.memory_budget_mb = Some(fit(
        request,
        DATA_KEY,
        "--data-gpu-memory",
        budgets.data,
        data,
        record,
    )?);
    for model in models {
        let budget = fit(
            request,
            MODEL_KEY,
            "--model-gpu-memory",
            budgets.model,
            model,
            record,
        )?;
        model.memory_budget_mb = Some(budget);
    }
    Ok(())
}

/// Fits one budget to a device that it has to itself.
fn fit(
    request: &PlanRequest,
    key: &str,
    flag: &str,
    asked: Megabytes,
    device: &PlannedDevice,
    record: &mut Record,
) -> Result<Megabytes, PlanError> {
    let Some(memory) = device.memory_budget_mb.filter(|memory| asked > *memory) else {
        record.because(format!("{} is held to {asked}", words(device)));
        return Ok(asked);
    };
    if !request.is_chosen(key) {
        record.because(format!(
            "{} is held to {memory}, all it has: the start value {asked} is more",
            words(device)
        ));
        return Ok(memory);
    }
    if request.strategy.allow_fallback {
        record.given_up.push(format!(
            "{flag} {} was given up: {} has {memory}",
            asked.0,
            words(device)
        ));
        return Ok(memory);
    }
    Err(PlanError::Budget {
        device: words(device),
        asked: format!("{flag} {}", asked.0),
        found: memory.to_string(),
        fix: format!("give at most {flag} {}", memory.0),
    })
}

/// Fits both budgets to one device.
fn share(
    request: &PlanRequest,
    Budgets { data, model }: Budgets,
    device: &PlannedDevice,
    record: &mut Record,
) -> Result<(Megabytes, Megabytes), PlanError> {
    let total = data.0.saturating_add(model.0);
    let Some(memory) = device.memory_budget_mb.filter(|memory| total > memory.0) else {
        record.because(format!(
            "{} is shared: {data} for data work, {model} for the model",
            words(device)
        ));
        return Ok((data, model));
    };
    // The defaults (8192 : 16384) give a third to data, too.
    let third = (Megabytes(memory.0 / 3), Megabytes(memory.0 - memory.0 / 3));
    let (data_chosen, model_chosen) = (request.is_chosen(DATA_KEY), request.is_chosen(MODEL_KEY));
    let split = match (data_chosen, model_chosen) {
        (true, false) if data < memory => Some((data, Megabytes(memory.0 - data.0))),
        (false, true) if model < memory => Some((Megabytes(memory.0 - model.0), model)),
        (false, false) => Some(third),
        _ => None,
    };
    let (data_share, model_share) = match split {
        Some(split) => split,
        None if request.strategy.allow_fallback => {
            record.given_up.push(format!(
                "memory budgets of {data} and {model} were given up: {} has {memory}",
                words(device)
            ));
            third
        }
        None => {
            return Err(PlanError::Budget {
                device: words(device),
                asked: format!(
                    "--data-gpu-memory {}, --model-gpu-memory {}",
                    data.0, model.0
                ),
                found: format!("{memory} for both: data work and model share this device"),
                fix: format!(
                    "give two that add up to at most {}, for example --data-gpu-memory {} \
                     --model-gpu-memory {}",
                    memory.0, third.0.0, third.1.0
                ),
            });
        }
    };
    record.because(format!(
        "{} is shared: {data_share} for data work, {model_share} for the model, of {memory}",
        words(device)
    ));
    Ok((data_share, model_share))
}

fn words(device: &PlannedDevice) -> String {
    format!("{} ({})", device.label(), device.name)
}
