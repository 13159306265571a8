import type { Metric } from '../../../common/plugin-host/metrics.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import { inPluginScope, scopeFields } from './plugin-scope.js';

/** Lines of one source. They are sent to the control process every second, and stay there. */
const maxLines = 1000;
const maxLabelLength = 256;

/** Metrics that a plugin declares, by name. */
export type MetricNames = Readonly<Record<string, string>>;

/**
 * Isolates a metric source of a custom plugin from the others. While it throws, or returns an invalid metric or
 * one that the plugin does not declare, it has no lines; that is logged when it begins.
 */
export function checkedSource(
  plugin: string,
  source: () => readonly Metric[],
  log: Logger,
  declared?: MetricNames,
): () => readonly Metric[] {
  const scope = { plugin, hook: 'metrics', requestId: null };
  let isBroken = false;
  return () => {
    try {
      const metrics = checked(inPluginScope(scope, source), declared);
      isBroken = false;
      return metrics;
    } catch (thrown) {
      if (!isBroken)
        log.error(
          { ...scopeFields(scope), err: thrown },
          `a metric source of the plugin ${plugin} is broken`,
        );
      isBroken = true;
      return [];
    }
  };
}

function checked(metrics: unknown, declared?: MetricNames): Metric[] {
  if (!Array.isArray(metrics)) throw new TypeError('It returned no list of metrics.');
  if (metrics.length > maxLines) throw new RangeError(`It returned more than ${maxLines} metrics.`);
  return metrics.map((metric, i) => {
    const { name, labels, value } = (metric ?? {}) as Partial<Metric>;
    if (typeof name !== 'string' || !/^[a-zA-Z_:][\w:]{0,199}$/.test(name))
      throw new TypeError(`Metric ${i}: its name must be letters, digits, _ and :.`);
    if (declared !== undefined && !Object.hasOwn(declared, name))
      throw new TypeError(`Metric ${name}: the plugin's metrics do not declare it.`);
    if (typeof value !== 'number') throw new TypeError(`Metric ${name}: its value must be a number.`);
    return { name, labels: checkedLabels(name, labels), value };
  });
}

function checkedLabels(metric: string, labels: unknown): Record<string, string> {
  if (typeof labels !== 'object' || labels === null)
    throw new TypeError(`Metric ${metric}: labels must be an object of strings.`);
  const copy: Record<string, string> = {};
  for (const [name, value] of Object.entries(labels)) {
    if (!/^[a-zA-Z_]\w*$/.test(name) || typeof value !== 'string' || value.length > maxLabelLength)
      throw new TypeError(
        `Metric ${metric}: labels must have names of letters, digits and _, and strings of up to ${maxLabelLength} characters.`,
      );
    copy[name] = value;
  }
  return copy;
}
