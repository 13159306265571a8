import type { PolicyCondition as ConditionMessage, PolicyGroup } from '../../../../../proto/messages.js';
import type { Policy, PolicyCondition } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { timeOf } from '../../grpc/wire.js';

/** What policies of both kinds have in common. */

/** What a policy limits: budgets and rates of model calls, rates of tool calls. */
export type Counted = 'budget' | 'llm' | 'mcp_tools';

const endpointTypes = new Set([
  ...['chatComplete', 'complete', 'embed', 'rerank', 'moderate', 'imageGenerate', 'imageEdit'],
  ...['createSpeech', 'createTranscription', 'createTranslation', 'messages', 'createModelResponse'],
  ...['createBatch', 'createFinetune', 'uploadFile', 'realtime', 'proxy'],
]);
/** `@slug/model`, or `@slug/*` for every model of a provider. */
const modelForm = /^@[A-Za-z0-9_.-]+\/\S+$/;
const longestValue = 1024;
const mostValues = 100;

function checkKey(key: string, path: string, counted: Counted): void {
  if (key.startsWith('mcp_') && counted !== 'mcp_tools')
    throw AdminError.field(path, `can be ${key} only in a rate limit whose target is mcp_tools.`);
  if (key === 'endpoint_type' && counted === 'budget')
    throw AdminError.field(path, 'can be endpoint_type only in a rate limit.');
}

function checkText(key: string, text: unknown, path: string): void {
  if (typeof text !== 'string' || text === '' || text.length > longestValue)
    throw AdminError.field(path, `must be text of 1 to ${longestValue} characters, or a list of such texts.`);
  if (text === '*') return;
  if (key === 'endpoint_type' && !endpointTypes.has(text))
    throw AdminError.field(path, `must be one of ${[...endpointTypes].join(', ')}.`);
  if (key === 'model' && !modelForm.test(text))
    throw AdminError.field(path, 'must be @slug/model, or @slug/* for every model of that provider.');
}

function textsOf(key: string, given: unknown, path: string): string | string[] | undefined {
  if (given === undefined || given === null) return undefined;
  if (!Array.isArray(given)) {
    checkText(key, given, path);
    return given as string;
  }
  if (given.length === 0 || given.length > mostValues)
    throw AdminError.field(path, `must have 1 to ${mostValues} texts.`);
  for (const [i, text] of given.entries()) checkText(key, text, `${path}[${i}]`);
  return given;
}

/** The conditions of a request, with checks that their rules cannot express. */
export function conditionsOf(given: readonly ConditionMessage[], counted: Counted): PolicyCondition[] {
  return given.map(({ key, ...texts }, i) => {
    const path = `conditions[${i}]`;
    checkKey(key, `${path}.key`, counted);
    const value = textsOf(key, texts.value, `${path}.value`);
    const excludes = textsOf(key, texts.excludes, `${path}.excludes`);
    if (value === undefined && excludes === undefined)
      throw AdminError.field(path, 'needs value or excludes: what the key must be, or must not be.');
    return { key, ...(value !== undefined && { value }), ...(excludes !== undefined && { excludes }) };
  });
}

export function groupsOf(given: readonly PolicyGroup[], counted: Counted): string[] {
  const keys = given.map(({ key }) => key);
  for (const [i, key] of keys.entries()) {
    checkKey(key, `group_by[${i}].key`, counted);
    if (keys.indexOf(key) < i) throw AdminError.field(`group_by[${i}].key`, 'is named before.');
  }
  return keys;
}

/** The fields of both kinds, as answers contain them. */
export const policyMessage = (policy: Policy) => ({
  id: policy.id,
  name: policy.name,
  description: policy.description,
  conditions: policy.conditions,
  group_by: policy.groupBy.map((key) => ({ key })),
  status: policy.status,
  workspace_id: policy.workspaceId,
  organisation_id: policy.organisationId,
  created_at: timeOf(policy.createdAt),
  last_updated_at: timeOf(policy.updatedAt),
  etag: policy.etag,
});

/** A name or description: cleared by being empty. */
export const noteOf = (text: string | null | undefined): string | null | undefined =>
  text === undefined ? undefined : text?.trim() || null;
