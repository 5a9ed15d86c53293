/** Devices with their streams, and the collectives. */

import { ppm, time } from "./format";
import { t } from "./strings";
import type { Collective, Device, Stream, Summary } from "./summary";
import { DataTable } from "./table";

interface DeviceRow {
  id: string;
  depth: number;
  device: Device;
  stream: Stream | null;
}

export class GPUView {
  private readonly table = new DataTable<DeviceRow>("gpu", {
    value: (r, key) => (r.stream === null ? deviceValue(r.device, key) : streamValue(r.stream, key)),
    id: (r) => r.id,
    text: (r) => (r.stream === null ? t.gpu.device(r.device.id) : t.gpu.stream(String(r.stream.stream))),
    depth: (r) => r.depth,
    reason: (_, key) => (key === "busy_ppm" ? t.absent.noBusy : t.absent.none),
    samples: (r, key) => (key === "name" || key === "kernels" ? "" : t.samples.kernels((r.stream ?? r.device).kernels)),
  });

  private readonly collectives = new DataTable<Collective & { share: number | null }>("collectives", {
    value: (c, key) => {
      switch (key) {
        case "mean_ns":
          return c.count === 0 ? null : Math.floor(c.total_ns / c.count);
        case "share_ppm":
          return c.share;
        case "library":
          return c.library;
        case "ranks_partial":
          return c.ranks_partial ? t.yes : "";
        default:
          return c[key as keyof Collective] as number | string | null;
      }
    },
    id: (c) => `${c.name} ${c.library} ${c.group_size ?? ""}`,
    text: (c) => `${c.name} ${t.tag(c.library)}`,
    reason: (_, key) => (key === "group_size" ? t.absent.noGroup : t.absent.noBusy),
    samples: (c, key) => (key.endsWith("_ns") ? t.samples.kernels(c.count) : ""),
  });

  preview(): void {
    this.table.set([], true);
    this.collectives.set([], true);
  }

  show(summary: Summary, name: string): void {
    this.table.traceName = name;
    this.table.set(summary.devices.flatMap(deviceRows));
    // Of kernel time, as in the table of kernels: the rows then add up to its class "communication".
    const kernels = summary.kernels.reduce((sum, k) => sum + k.total_ns, 0);
    this.collectives.traceName = name;
    this.collectives.set(summary.collectives.map((c) => ({ ...c, share: ppm(c.total_ns, kernels) })));
    this.collectives.spec.samples = (c, key) =>
      key === "share_ppm" ? t.samples.gpuShare(time(kernels)) : key.endsWith("_ns") ? t.samples.kernels(c.count) : "";
  }
}

function deviceRows(device: Device): DeviceRow[] {
  return [
    { id: device.id, depth: 0, device, stream: null },
    ...device.stream_list.map((stream) => ({ id: `${device.id}/${stream.stream}`, depth: 1, device, stream })),
  ];
}

function deviceValue(d: Device, key: string): number | string | null {
  if (key === "name") return t.gpu.device(d.id);
  if (key === "busy_ppm") return ppm(d.busy_ns, d.busy_ns + d.idle_ns);
  return d[key as Exclude<keyof Device, "stream_list">];
}

/** A stream has no figures of its own for the rest: blank, not absent. */
function streamValue(s: Stream, key: string): number | string | undefined {
  if (key === "name") return t.gpu.stream(String(s.stream));
  return key === "kernels" || key === "sum_ns" || key === "busy_ns" ? s[key] : undefined;
}
