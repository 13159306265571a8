import { LRUCache } from 'lru-cache';
import { retainedBytes } from '../../../common/bytes/retained-bytes.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { isJsonObject } from '../../../common/json/json.js';
import { type AzureFields, missing } from './azure-fields.js';

/** A model as a resource on Azure has it. */
export interface ModelDeployment {
  readonly name: string;
  /** null: the provider's. */
  readonly apiVersion: string | null;
}

interface Listed extends ModelDeployment {
  readonly alias: string | null;
  /** The model that was deployed: a caller may ask for it by its own name. */
  readonly slug: string | null;
  readonly isDefault: boolean;
}

/** Lists by their text: a stored provider's is the same from call to call. */
const known = new LRUCache<string, readonly Listed[]>({
  max: 1_000,
  maxSize: 4 * 1024 * 1024,
  sizeCalculation: (list, text) => 2 * text.length + retainedBytes(list),
});

function listOf(text: string): readonly Listed[] {
  let list = known.get(text);
  if (list === undefined) {
    const read: unknown = JSON.parse(text);
    list = (Array.isArray(read) ? read.filter(isJsonObject) : []).map(listed);
    known.set(text, list);
  }
  return list;
}

/** An integration and a virtual key spell these differently. */
function listed(raw: JsonObject): Listed {
  const text = (...names: readonly string[]): string | null => {
    const value = names.map((name) => raw[name]).find((found) => typeof found === 'string' && found !== '');
    return (value as string | undefined) ?? null;
  };
  return {
    name: text('azure_deployment_name', 'deployment_name') ?? '',
    apiVersion: text('azure_api_version', 'api_version'),
    alias: text('alias'),
    slug: text('azure_model_slug'),
    isDefault: raw['is_default'] === true,
  };
}

/**
 * The deployment that a call means by its model: of a list by alias, by model or by its own name, else the list's
 * default; without a list the one that is configured, else one of the model's name. null: the call names none.
 */
export function deploymentFor(model: string | null, field: AzureFields): ModelDeployment | null {
  const text = field('azure_deployment_config', 'deployment_config');
  if (text === null) {
    const name =
      field('azure_deployment_id', 'deployment_id', 'azure_deployment_name', 'deployment_name') ?? model;
    return name === null ? null : { name, apiVersion: null };
  }
  const list = listOf(text);
  const found =
    list.find(({ alias }) => alias !== null && alias === model) ??
    list.find(({ slug }) => slug !== null && slug === model) ??
    list.find(({ name }) => name === model) ??
    list.find(({ isDefault }) => isDefault);
  if (found !== undefined || model === null) return found ?? null;
  const names = list.map(({ alias, name }) => alias ?? name).join(', ');
  throw missing('model', `is none of the deployments of this provider: ask for ${names}.`);
}
