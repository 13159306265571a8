import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Exemplar, MetricFamily, MetricSample } from '../../control-plane/telemetry/metric-family.js';

/** Does a scraper's `Accept` ask for the OpenMetrics format? */
export const wantsOpenMetrics = (accept: string | undefined): boolean =>
  accept?.includes('application/openmetrics-text') ?? false;

export const metricsType = (isOpen: boolean): string =>
  isOpen
    ? 'application/openmetrics-text; version=1.0.0; charset=utf-8'
    : 'text/plain; version=0.0.4; charset=utf-8';

type GrowingFamily = MetricFamily & { readonly samples: MetricSample[] };

const emptyFamily = (name: string, help: string | null): GrowingFamily => ({
  ...{ name, type: name.endsWith('_total') ? 'counter' : 'gauge', help },
  samples: [],
});

/**
 * Single lines as families. A name that ends in `_total` is a counter, others are gauges. `described`: names with their help, which
 * are shown before they have a line.
 */
export function familiesOf(
  metrics: readonly Metric[],
  described: Readonly<Record<string, string>> = {},
): MetricFamily[] {
  const families = new Map(
    Object.entries(described).map(([name, help]) => [name, emptyFamily(name, help)] as const),
  );
  for (const { name, labels, value } of metrics) {
    let family = families.get(name);
    if (family === undefined) {
      family = emptyFamily(name, null);
      families.set(name, family);
    }
    family.samples.push({ labels, value });
  }
  return [...families.values()];
}

/** In Prometheus's text format, or in OpenMetrics', which has exemplars. */
export function metricsText(families: readonly MetricFamily[], isOpen: boolean): string {
  const lines: string[] = [];
  for (const { name, type, help, samples } of families) {
    // There the family of a counter is named without its ending.
    const family = isOpen && type === 'counter' ? name.replace(/_total$/, '') : name;
    if (help !== null) lines.push(`# HELP ${family} ${help}`);
    lines.push(`# TYPE ${family} ${type}`);
    for (const { suffix = '', labels, value, exemplar } of samples) {
      const example = isOpen && exemplar ? exemplarText(exemplar) : '';
      lines.push(`${name}${suffix}${labelsText(labels)} ${value}${example}`);
    }
  }
  if (isOpen) lines.push('# EOF');
  return lines.map((line) => `${line}\n`).join('');
}

function labelsText(labels: MetricSample['labels']): string {
  const pairs = Object.entries(labels).map(([key, label]) => `${key}="${escaped(label)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Names and values of an exemplar's labels have 128 characters at most. */
const longestTraceId = 100;

const exemplarText = ({ traceId, value, at }: Exemplar): string =>
  [...traceId].length > longestTraceId ? '' : ` # {trace_id="${escaped(traceId)}"} ${value} ${at / 1000}`;

const escaped = (label: string): string =>
  label.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
