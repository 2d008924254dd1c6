//! Adapters of the graphics APIs: Vulkan, or Metal on Apple machines.

use burn::tensor::wgpu::wgpu;
use futures_lite::future::block_on;
use myxtts_config::units::Megabytes;

use crate::config::Precision;
use crate::machine::{Adapter, Backend, Gpu, GpuKind};
use crate::reading::Reading;

/// The one graphics API that is used on this system. It is pinned, so that the
/// n-th discrete adapter listed here is the n-th one opened later.
pub(crate) const GRAPHICS_API: wgpu::Backends = if cfg!(target_os = "macos") {
    wgpu::Backends::METAL
} else {
    wgpu::Backends::VULKAN
};

pub(crate) fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: GRAPHICS_API,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

/// Lists the adapters as GPUs of `backend`.
pub(super) fn probe(backend: Backend) -> Result<Vec<Gpu>, String> {
    let adapters = block_on(instance().enumerate_adapters(GRAPHICS_API));
    if adapters.is_empty() {
        return Err(match cfg!(target_os = "macos") {
            true => "no Metal adapter".to_owned(),
            false => "no Vulkan adapter: the Vulkan loader or the card's driver is not installed"
                .to_owned(),
        });
    }
    let mut seen = Vec::new();
    Ok(adapters
        .iter()
        .map(|adapter| describe(backend, adapter, &mut seen))
        .collect())
}

fn describe(backend: Backend, adapter: &wgpu::Adapter, seen: &mut Vec<GpuKind>) -> Gpu {
    let info = adapter.get_info();
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => GpuKind::Discrete,
        wgpu::DeviceType::IntegratedGpu => GpuKind::Integrated,
        wgpu::DeviceType::VirtualGpu => GpuKind::Virtual,
        wgpu::DeviceType::Cpu => GpuKind::Software,
        wgpu::DeviceType::Other => GpuKind::Other,
    };
    let index = seen.iter().filter(|other| **other == kind).count();
    seen.push(kind);
    let mut precisions = vec![Precision::F32];
    if adapter.features().contains(wgpu::Features::SHADER_F16) {
        precisions.push(Precision::F16);
    }
    let driver = format!("{} {}", info.driver, info.driver_info);
    Gpu {
        id: 0,
        backend,
        name: info.name,
        kind,
        memory: memory(adapter),
        driver: driver.trim().to_owned(),
        other_drivers: vec![],
        pci_address: Some(info.device_pci_bus_id).filter(|address| !address.is_empty()),
        precisions,
        adapter: Adapter::Kind(kind, u32::try_from(index).unwrap_or(u32::MAX)),
    }
}

/// Returns the size of the card's own memory heap, which Vulkan reports and wgpu
/// does not pass on.
#[cfg(not(target_os = "macos"))]
#[expect(unsafe_code, reason = "the only way to the driver's memory heaps")]
fn memory(adapter: &wgpu::Adapter) -> Reading<Megabytes> {
    const DEVICE_LOCAL: u32 = 1;
    // SAFETY: the handles are used while `adapter` keeps them alive, to read
    // properties only; nothing is created or destroyed through them.
    let heaps = unsafe {
        adapter.as_hal::<wgpu::hal::api::Vulkan>().map(|adapter| {
            let instance = adapter.shared_instance().raw_instance();
            instance.get_physical_device_memory_properties(adapter.raw_physical_device())
        })
    };
    let Some(heaps) = heaps else {
        return Reading::Unavailable("the adapter is not a Vulkan one".to_owned());
    };
    let count = usize::try_from(heaps.memory_heap_count).unwrap_or(0);
    let largest = heaps
        .memory_heaps
        .iter()
        .take(count)
        .filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0)
        .map(|heap| heap.size)
        .max();
    match largest {
        Some(bytes) => Reading::Value(Megabytes::from_bytes(bytes)),
        None => Reading::Unavailable("the driver lists no device memory".to_owned()),
    }
}

#[cfg(target_os = "macos")]
fn memory(_: &wgpu::Adapter) -> Reading<Megabytes> {
    Reading::Unavailable("Metal shares the machine's memory and reports none of its own".to_owned())
}
