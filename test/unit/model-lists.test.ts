import { expect } from 'chai';
import type { ModelsQuestion } from '../../src/common/vocabulary/model-list.js';
import { maxModels } from '../../src/control-plane/administration/resources/models/model-catalogue.js';
import { answerModels } from '../../src/control-plane/administration/resources/models/model-lists.js';
import type { Store, UsableProvider } from '../../src/control-plane/store/store.js';
import { noBudgets } from '../support/no-budgets.js';

const named = (slug: string, models: readonly string[], others = false): UsableProvider => ({
  slug,
  provider: 'openai',
  models: { others, named: models.map((model) => ({ model, enabled: true, baseUrl: null })) },
  budgets: [],
});

/** A store with one workspace, whose providers these are. */
const storeOf = (providers: readonly UsableProvider[]): Store =>
  ({
    providers: {
      usable: async (_place: unknown, { slug }: { slug?: string }) =>
        slug === undefined ? providers : providers.filter((one) => one.slug === slug),
    },
  }) as unknown as Store;

async function ask(
  providers: readonly UsableProvider[],
  shape: ModelsQuestion['shape'],
  query = '',
  id: string | null = null,
  // biome-ignore lint/suspicious/noExplicitAny: JSON of three shapes, looked into by the tests.
): Promise<any> {
  const asked = { organisation: 'o', workspace: 'w', shape, id, query };
  const found = await answerModels({ store: storeOf(providers), budgets: noBudgets }, asked);
  return 'body' in found ? JSON.parse(found.body) : found;
}

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `m${String(i).padStart(5, '0')}`);

describe('lists of models', () => {
  it('end at a bound, however many models the providers name', async () => {
    const { data } = await ask([named('a', numbered(maxModels)), named('b', ['more'])], 'openai');
    expect(data).to.have.length(maxModels);
  });

  it('go on where the last page ended, though its last model has gone meanwhile', async () => {
    const before = [named('a', numbered(5))];
    const after = [
      named(
        'a',
        numbered(5).filter((name) => name !== 'm00001'),
      ),
    ];
    const first = await ask(before, 'anthropic', 'limit=2');
    const second = await ask(after, 'anthropic', `limit=2&after_id=${encodeURIComponent(first.last_id)}`);
    expect(second.data.map(({ id }: { id: string }) => id)).to.deep.equal(['@a/m00002', '@a/m00003']);
    const { nextPageToken } = await ask(before, 'gemini', 'pageSize=2');
    const page = await ask(after, 'gemini', `pageSize=2&pageToken=${nextPageToken}`);
    expect(page.models.map(({ name }: { name: string }) => name)).to.deep.equal([
      'models/@a/m00002',
      'models/@a/m00003',
    ]);
  });

  it('report that there is no more on the last page', async () => {
    const providers = [named('a', numbered(4))];
    expect(await ask(providers, 'anthropic', 'limit=2&after_id=@a/m00001')).to.include({ has_more: false });
    expect(await ask(providers, 'gemini', 'pageSize=4')).to.not.have.property('nextPageToken');
    expect(await ask([], 'anthropic')).to.deep.equal({
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    });
    expect(await ask([], 'gemini')).to.deep.equal({ models: [] });
  });

  it('have a dated name of a model whose price is known, where its provider lets others pass', async () => {
    const dated = '@a/gpt-4o-2024-08-06';
    expect(await ask([named('a', [], true)], 'openai', '', dated)).to.include({ id: dated });
    expect(await ask([named('a', [])], 'openai', '', dated)).to.include({ code: 'not_found' });
  });

  it('suggest the model that an unknown id is nearest to', async () => {
    const providers = [named('main', ['gpt-4o-mini', 'org/name']), named('other', ['gpt-4o-mni'])];
    const message = async (id: string): Promise<string> => (await ask(providers, 'openai', '', id)).message;
    expect(await message('@main/gpt-4o-mni')).to.include('did you mean @main/gpt-4o-mini? If not, name it');
    expect(await message('@mian/gpt-4o-mini')).to.include('did you mean @main/gpt-4o-mini?');
    expect(await message('gpt-4o-mini')).to.include('did you mean @main/gpt-4o-mini?');
    expect(await message('org/name')).to.include('did you mean @main/org/name?');
    expect(await message('@main/gpt-nope')).not.to.include('did you mean');
    expect(await message('@main/entirely-different')).not.to.include('did you mean');
    expect(await message('x'.repeat(100_000))).not.to.include('did you mean');
  });
});
