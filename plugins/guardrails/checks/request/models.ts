import type { RequestCheck, RequestContext } from '../../check.js';
import { isPlain } from './values.js';

/** The model as the client wrote it, and without the provider before it. */
function namesOf({ model, body }: RequestContext): readonly string[] {
  const written = body?.['model'];
  if (typeof written !== 'string') return model === null ? [] : [model];
  return model === null || model === written ? [written] : [written, model];
}

const noModel = { name: 'NoModel', message: 'The request names no model.' };

const noRules = { name: 'NoRule', message: 'There are no rules.' };

const allowedModels = (id: string): RequestCheck => ({
  id,
  runs: 'request',
  run(context, parameters) {
    const { models, not } = parameters as unknown as {
      readonly models: readonly string[];
      readonly not: boolean;
    };
    const names = namesOf(context);
    if (names.length === 0) return { verdict: false, data: { explanation: noModel.message }, error: noModel };
    const isListed = names.some((name) => models.includes(name));
    const data = () => ({
      ...{ requestedModel: names[0]!.slice(0, 256), not },
      explanation: `The model is ${isListed ? '' : 'not '}in the list.`,
    });
    return { verdict: isListed !== not, data };
  },
});

/** Is the model of the request in the list? The check has two ids. */
export const modelWhitelist = ['default.modelWhitelist', 'default.modelwhitelist'].map(allowedModels);

/**
 * Is the model of the request allowed for its metadata? `rules.metadata` has models by key and value, all of those that
 * fit are allowed; `rules.defaults` where none fits. Without defaults no model is allowed then: clients may write metadata.
 */
export const modelRules: RequestCheck = {
  id: 'default.modelRules',
  runs: 'request',
  run(context, parameters) {
    const not = parameters['not'] as boolean;
    const names = namesOf(context);
    if (names.length === 0) return { verdict: false, data: { explanation: noModel.message }, error: noModel };
    const rules = isPlain(parameters['rules']) ? parameters['rules'] : {};
    if (Object.keys(rules).length === 0)
      return { verdict: false, data: { explanation: noRules.message }, error: noRules };
    const byKey = isPlain(rules['metadata']) ? rules['metadata'] : {};
    const matchedRules: string[] = [];
    const allowed = new Set<unknown>();
    for (const [key, byValue] of Object.entries(byKey)) {
      const value = Object.hasOwn(context.metadata, key) ? context.metadata[key] : undefined;
      if (value === undefined || !isPlain(byValue) || !Object.hasOwn(byValue, value)) continue;
      matchedRules.push(`${key}:${value}`.slice(0, 256));
      for (const model of [byValue[value]].flat()) allowed.add(model);
    }
    if (allowed.size === 0) for (const model of [rules['defaults'] ?? []].flat()) allowed.add(model);
    const isAllowed = names.some((name) => allowed.has(name));
    const explanation = `The rules ${isAllowed ? 'name' : 'do not name'} the model.`;
    return {
      verdict: isAllowed !== not,
      data: { matchedRules: matchedRules.slice(0, 10), not, explanation },
    };
  },
};
