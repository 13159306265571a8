import { type GuardrailCheck, guardrailChecks } from './guardrail-checks.js';

let brought: ReadonlyMap<string, GuardrailCheck> = new Map();

/**
 * From now on these are the checks that plugins bring, by id, in this process. Data workers set them when their plugins change, and
 * report them to the control process, which checks guardrails by them before these are stored.
 */
export function replacePluginChecks(checks: ReadonlyMap<string, GuardrailCheck>): void {
  brought = checks;
}

/** What a guardrail's check takes: one of the gateway's own, or of a plugin. undefined: there is no such check. */
export const knownCheck = (id: string): GuardrailCheck | undefined =>
  guardrailChecks.get(id) ?? brought.get(id);

export const isPluginCheck = (id: string): boolean => brought.has(id);

export function* knownCheckIds(): Generator<string> {
  yield* guardrailChecks.keys();
  yield* brought.keys();
}
