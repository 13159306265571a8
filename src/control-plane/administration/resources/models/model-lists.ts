import { nearest } from '../../../../common/text/nearest.js';
import type { ModelsAnswer, ModelsQuestion } from '../../../../common/vocabulary/model-list.js';
import type { Place, Store } from '../../../store/store.js';
import { type CatalogueModel, type CatalogueParts, catalogue, catalogueModel } from './model-catalogue.js';

const sorts = ['name', 'provider', 'ai_service'] as const;
const orders = ['asc', 'desc'] as const;
export type Sort = (typeof sorts)[number];
export type ModelOrder = (typeof orders)[number];
export const isSort = (text: unknown): text is Sort => (sorts as readonly unknown[]).includes(text);
export const isOrder = (text: unknown): text is ModelOrder => (orders as readonly unknown[]).includes(text);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const sortKey: Readonly<Record<Sort, (model: CatalogueModel) => string>> = {
  name: ({ name }) => name,
  provider: ({ provider }) => provider,
  ai_service: ({ aiService }) => aiService,
};

/** Sorts in place; models that are equal by `sort` are in the order of their ids. */
export function sorted(models: CatalogueModel[], sort: Sort, order: ModelOrder): void {
  const key = sortKey[sort];
  const sign = order === 'desc' ? -1 : 1;
  models.sort((a, b) => sign * compare(key(a), key(b)) || compare(a.id, b.id));
}

const byId = (models: CatalogueModel[]): CatalogueModel[] => models.sort((a, b) => compare(a.id, b.id));

export const openAiModel = ({ id, aiService }: CatalogueModel) => ({
  id,
  created: 0,
  object: 'model' as const,
  owned_by: aiService,
});

/** When a model was released is not in the catalogue: Anthropic's API gives the epoch for such a model. */
const anthropicModel = ({ id, name }: CatalogueModel) => ({
  type: 'model',
  id,
  display_name: name,
  created_at: '1970-01-01T00:00:00Z',
});

/** Whether a model embeds or generates is taken from its name. */
const geminiModel = ({ id, name }: CatalogueModel) => ({
  name: `models/${id}`,
  baseModelId: id,
  version: '',
  displayName: name,
  supportedGenerationMethods: /embed/i.test(name)
    ? ['embedContent', 'countTokens']
    : ['generateContent', 'countTokens'],
});

/** Something in the question that must be another way. */
class ListRefusal extends Error {
  constructor(
    readonly code: 'invalid_request' | 'not_found',
    message: string,
    readonly param: string,
  ) {
    super(message);
  }
}

/** The integer of a query parameter; `absent` where it is not given. */
function integerOf(query: URLSearchParams, name: string, absent: number, min: number, max: number): number {
  const text = query.get(name);
  if (text === null || text === '') return absent;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value < min || value > max) {
    throw new ListRefusal('invalid_request', `${name} must be an integer from ${min} to ${max}.`, name);
  }
  return value;
}

function choiceOf<T extends string>(query: URLSearchParams, name: string, choices: readonly [T, ...T[]]): T {
  const text = query.get(name) ?? choices[0];
  const found = choices.find((choice) => choice === text);
  if (found === undefined)
    throw new ListRefusal('invalid_request', `${name} must be ${choices.join(' or ')}.`, name);
  return found;
}

const maxOffset = 999_999_999;

/** Without `limit` all of them: OpenAI's clients do not ask for pages. */
function openAiList(models: CatalogueModel[], query: URLSearchParams): object {
  sorted(models, choiceOf(query, 'sort', sorts), choiceOf(query, 'order', orders));
  const offset = integerOf(query, 'offset', 0, 0, maxOffset);
  const limit = integerOf(query, 'limit', models.length, 1, maxOffset);
  return { object: 'list', data: models.slice(offset, offset + limit).map(openAiModel) };
}

/** Pages begin after an id, or end before one, whether or not that model is still on the list. */
function anthropicList(models: CatalogueModel[], query: URLSearchParams): object {
  byId(models);
  const limit = integerOf(query, 'limit', 20, 1, 1000);
  const [after, before] = [query.get('after_id'), query.get('before_id')];
  if (after !== null && before !== null)
    throw new ListRefusal(
      'invalid_request',
      'after_id and before_id exclude each other: send one.',
      'after_id',
    );
  let from = 0;
  let to = limit;
  if (before !== null) {
    const end = models.findIndex(({ id }) => id >= before);
    to = end < 0 ? models.length : end;
    from = Math.max(0, to - limit);
  } else if (after !== null) {
    const start = models.findIndex(({ id }) => id > after);
    from = start < 0 ? models.length : start;
    to = from + limit;
  }
  const page = models.slice(from, to);
  return {
    data: page.map(anthropicModel),
    has_more: before === null ? to < models.length : from > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

/** A page token is the id of the last model before that page. */
function geminiList(models: CatalogueModel[], query: URLSearchParams): object {
  byId(models);
  // Google takes larger sizes for 1000.
  const size = Math.min(integerOf(query, 'pageSize', 50, 0, maxOffset) || 50, 1000);
  const token = query.get('pageToken');
  const after = token ? Buffer.from(token, 'base64url').toString() : '';
  if (token && !after.startsWith('@'))
    throw new ListRefusal(
      'invalid_request',
      'pageToken is not one that this list has given out.',
      'pageToken',
    );
  const start = models.findIndex(({ id }) => id > after);
  const page = start < 0 ? [] : models.slice(start, start + size);
  const last = page.at(-1);
  const hasMore = start >= 0 && start + size < models.length;
  return {
    models: page.map(geminiModel),
    ...(hasMore && last !== undefined ? { nextPageToken: Buffer.from(last.id).toString('base64url') } : {}),
  };
}

const shapes = {
  openai: { one: openAiModel, list: openAiList },
  anthropic: { one: anthropicModel, list: anthropicList },
  gemini: { one: geminiModel, list: geminiList },
} as const;

/** The workspace that is asked about: the key's own; for an admin key the one that it names, else the default one. */
async function placeOf(store: Store, asked: ModelsQuestion, named: string | null): Promise<Place> {
  const { organisation: organisationId, workspace: own } = asked;
  if (!named && own !== null) return { organisationId, workspaceId: own };
  if (named) {
    const found = await store.workspaces.get(organisationId, named);
    if (found?.status === 'active' && (own === null || own === found.id))
      return { organisationId, workspaceId: found.id };
    throw new ListRefusal('not_found', 'workspace_id: there is no such workspace.', 'workspace_id');
  }
  const { rows } = await store.workspaces.list(organisationId, { offset: 0, limit: 1000 });
  const workspace = rows.find(({ isDefault }) => isDefault) ?? rows[0];
  if (workspace === undefined)
    throw new ListRefusal('not_found', 'This organisation has no workspace.', 'workspace_id');
  return { organisationId, workspaceId: workspace.id };
}

/** Answers a data worker's question for the models of a key, as its client reads them. */
export async function answerModels(parts: CatalogueParts, asked: ModelsQuestion): Promise<ModelsAnswer> {
  try {
    const query = new URLSearchParams(asked.query);
    const place = await placeOf(parts.store, asked, query.get('workspace_id'));
    const { one, list } = shapes[asked.shape];
    if (asked.id !== null) {
      const model = await catalogueModel(parts, place, asked.id);
      if (model === null) throw unknownModel(asked.id, await nearModel(parts, place, asked.id));
      return { body: JSON.stringify(one(model)) };
    }
    const filter = { provider: query.get('provider'), aiService: query.get('ai_service') };
    return { body: JSON.stringify(list(await catalogue(parts, place, filter), query)) };
  } catch (thrown) {
    if (!(thrown instanceof ListRefusal)) throw thrown;
    const { code, message, param } = thrown;
    return { code, message, param };
  }
}

/** Characters. Longer ids are not compared: the work grows with the square of the length. */
const longestCompared = 96;
/** Ids of about the same length that an id is compared with. */
const mostCompared = 200;

/** The listed id that was probably meant: the same model with its provider, else the nearest one. null: none is near. */
async function nearModel(parts: CatalogueParts, place: Place, id: string): Promise<string | null> {
  if (id.length > longestCompared) return null;
  const isOf = (slug: string) => id.startsWith(`@${slug}/`);
  const all = await catalogue(parts, place, { provider: null, aiService: null });
  const same = all.find(({ name }) => name === id);
  if (same !== undefined) return same.id;
  // Of the provider that is named, where there is one: otherwise a model of another provider might be nearer.
  const own = all.filter(({ provider }) => isOf(provider));
  const close = (own.length > 0 ? own : all).filter((one) => Math.abs(one.id.length - id.length) <= 4);
  // Only the names of one provider's models are compared: a longer text may have more differences and still be near.
  const skipped = own.length > 0 ? id.indexOf('/') + 1 : 0;
  const near = nearest(
    id.slice(skipped),
    close.slice(0, mostCompared).map((one) => one.id.slice(skipped)),
  );
  return near === null ? null : id.slice(0, skipped) + near;
}

const unknownModel = (id: string, meant: string | null): ListRefusal =>
  new ListRefusal(
    'not_found',
    `There is no model ${JSON.stringify(id.slice(0, 200))} on the list of this key: ${meant === null ? '' : `did you mean ${meant}? If not, `}name it @slug/model, as GET /v1/models lists it, or name a provider to have the call passed on.`,
    'model',
  );
