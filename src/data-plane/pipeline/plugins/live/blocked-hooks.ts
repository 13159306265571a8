import type { Metric } from '../../../../common/plugin-host/metrics.js';
import type { Logger } from '../../../../common/plugin-host/plugin.js';
import { type PluginScope, scopeFields } from '../plugin-scope.js';

const counts = new Map<string, number>();

/** Milliseconds that a hook may hold the event loop. */
const blockedMs = 20;

/** Counts and logs a hook that has held the event loop for too long since `from`, in milliseconds of `performance.now`. */
export function reportIfBlocked(scope: PluginScope, from: number, log: Logger): void {
  const ms = performance.now() - from;
  if (ms <= blockedMs) return;
  const { plugin, hook } = scope;
  const key = `${plugin} ${hook}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
  const rounded = Math.round(ms);
  log.warn(
    { ...scopeFields(scope), ms: rounded },
    `the plugin ${plugin} held the event loop for ${rounded} ms in ${hook}`,
  );
}

export const blockedHooks = (): Metric[] =>
  [...counts].map(([key, value]) => {
    const [plugin = '', hook = ''] = key.split(' ');
    return { name: 'gateway_plugin_blocked_total', labels: { plugin, hook }, value };
  });
