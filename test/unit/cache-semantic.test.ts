// lane: not quick
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Questions } from '../../plugins/cache/control/questions.js';
import { serveAnswers } from '../../plugins/cache/control/shared-answers.js';
import type { CacheStore } from '../../plugins/cache/control/store.js';
import { questionIn } from '../../plugins/cache/question.js';
import { TimeoutGuard } from '../../plugins/cache/shared/timeout-guard.js';
import type { Exchange, JsonObject, Reply } from '../../src/common/core/exchange.js';
import type { ResolvedConfig, Target } from '../../src/common/core/target.js';
import type { FullHost } from '../../src/common/plugin-host/plugin.js';
import { directCredential } from '../../src/common/plugin-host/slots.js';
import { defaultConfig } from '../../src/common/vocabulary/default-config.js';
import { openSqliteVectors } from '../../src/control-plane/vectors/sqlite.js';
import { VectorStore } from '../../src/control-plane/vectors/store.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { vectorOfWords } from '../../src/simulated/openai.js';
import { CacheStage, type CallFacts, completion, usualFacts } from '../support/cache-stage.js';
import { SharedHub, silent } from '../support/shared.js';

const size = 64;
const config = {
  provider: '@up',
  cache: { mode: 'semantic', embedding: { provider: '@embedder', model: 'words' } },
};

/** What one try for an exchange of the cache's own comes to. */
type Aside = (x: Exchange, target: Target) => Promise<Reply | null>;

const answered = (body: Buffer): Reply => ({
  status: 200,
  headers: [],
  body,
  events: false,
  errorOrigin: null,
});

/** Embeds by words; texts are near where they share most of them. */
const byWords: Aside = async (x) => {
  const [text] = x.request.json!['input'] as [string];
  const embedding = [...vectorOfWords(text, size)];
  return answered(Buffer.from(JSON.stringify({ data: [{ index: 0, embedding }] })));
};

const asking = (content: unknown, more: JsonObject = {}): CallFacts => ({
  ...usualFacts,
  body: { model: 'm', messages: [{ role: 'user', content }], ...more },
});

describe('answers found by what their questions mean', () => {
  let dataDir: string;
  let vectors: VectorStore;
  let asides: { x: Exchange; target: Target }[] = [];
  let organisation = 0;
  const kept = new Map<string, string>();
  const answers: CacheStore = {
    read: async (key) => kept.get(key) ?? null,
    write: (key, entry) => kept.set(key, entry),
    close: async () => {},
  };

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-semantic-'));
    vectors = new VectorStore(await openSqliteVectors(dataDir), { maxBytes: 1e9, log: silent });
  });
  after(async () => {
    await vectors.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  beforeEach(() => {
    asides = [];
    organisation++;
  });

  /** No other test's. */
  const mine = (facts: CallFacts): CallFacts => ({
    ...facts,
    organisation: `${organisation} ${facts.organisation}`,
  });

  async function open(aside: Aside = byWords, options: object = {}, more: Partial<FullHost> = {}) {
    const hub = new SharedHub();
    new Questions(hub.server, async () => vectors);
    serveAnswers(hub.server, answers, null, silent);
    const stage = await CacheStage.open(
      { shared: true, ...options },
      {
        shared: hub.worker(),
        log: silent,
        inputTokens: async () => 100,
        random: () => 1,
        aside: (x, target) => {
          asides.push({ x, target });
          return aside(x, target);
        },
        ...more,
      },
    );
    stage.config = JSON.stringify(config);
    /** The stage's word on a call, and the answer that the call has in the end. */
    const ask = async (facts: CallFacts, answer = 'an answer'): Promise<{ x: Exchange; text: string }> => {
      const x = stage.call(mine(facts));
      const reply = (await stage.look(x)) as Reply | undefined;
      const body = reply?.body ?? completion(answer);
      if (reply === undefined) stage.answer(x, body);
      stage.over(x);
      await hub.quiet();
      await vectors.nearest('', vectorOfWords('a', size), 1);
      const said = JSON.parse(body.toString()) as { choices: { message: { content: string } }[] };
      return { x, text: said.choices[0]!.message.content };
    };
    return { stage, ask, hub };
  }

  it('gives the answer to a question in other words, and reports it', async () => {
    const { ask } = await open();
    const first = await ask(asking('How do I reset my password?'), 'Click on "forgotten".');
    expect(first.x.cache).to.equal('SEMANTIC MISS');
    const second = await ask(asking('Please tell me: how can I reset the password'));
    expect([second.x.cache, second.text]).to.deep.equal(['SEMANTIC HIT', 'Click on "forgotten".']);
    expect(second.x.saved).to.include({ cost: 100 });
    const other = await ask(asking('How do I delete my account?'), 'You cannot.');
    expect([other.x.cache, other.text]).to.deep.equal(['SEMANTIC MISS', 'You cannot.']);
  });

  it('is looked up by the exact question first, without an embedding', async () => {
    const { ask } = await open();
    await ask(asking('How do I reset my password?'));
    const embedded = asides.length;
    expect((await ask(asking('How do I reset my password?'))).x.cache).to.equal('HIT');
    expect(asides.length).to.equal(embedded);
  });

  it('embeds each text once: for the look-up, for keeping it, and for calls at the same time', async () => {
    const { ask } = await open();
    await ask(asking('How do I reset my password?'));
    expect(asides.length).to.equal(1);
    await Promise.all(
      [1, 2, 3].map((seed) =>
        ask(
          asking('Can you reset a password?', {
            messages: [
              { role: 'system', content: `${seed}` },
              { role: 'user', content: 'Can you reset a password?' },
            ],
          }),
        ),
      ),
    );
    expect(asides.length).to.equal(2);
  });

  it('embeds in the name of the call, at the provider that its config names, marked in the log', async () => {
    const { ask } = await open();
    const { x } = await ask(asking('How do I reset my password?'));
    const [{ x: aside, target }] = asides as [(typeof asides)[0]];
    expect(aside.principal).to.equal(x.principal);
    expect(aside.metadata).to.deep.equal({ _cache_embedding_of: x.id });
    expect(aside.trace.traceId).to.equal(x.trace.traceId);
    expect(aside.endpoint.name).to.equal('embeddings');
    expect(aside.request.json).to.include({ model: 'words' });
    expect(target).to.include({ provider: '@embedder', path: 'config.cache.embedding' });
    const { headers } = aside.request;
    expect(headers, 'of the client nothing').to.deep.equal(['x-gateway-debug', 'false']);
  });

  it("the client's own credential goes to a provider that its config sends it to, and to no other", async () => {
    const { ask, stage } = await open();
    for (const [provider, credential] of [
      ['openai', 'sk-client'],
      ['voyage', undefined],
    ]) {
      const embedding = { provider, model: 'words' };
      const targets = [{ provider: 'openai', custom_host: 'https://own.example/v1' }, { provider: 'cohere' }];
      stage.config = JSON.stringify({
        strategy: { mode: 'fallback' },
        targets,
        cache: { mode: 'semantic', embedding },
      });
      asides = [];
      await ask({ ...asking(`How do I ask ${provider}?`), credential: 'sk-client' });
      const [{ x, target }] = asides as [(typeof asides)[0]];
      expect(x.get(directCredential)?.reveal()).to.equal(credential);
      expect(target.provider).to.equal(provider);
      expect(target.customHost).to.equal(credential === undefined ? null : 'https://own.example/v1');
    }
  });

  it('ends what it asks for itself when the worker leaves', async () => {
    const { ask, stage } = await open((x) => new Promise((resolve) => x.onAbort(() => resolve(null))));
    const asked = ask(asking('How do I reset my password?'));
    while (asides.length === 0) await new Promise((turn) => setImmediate(turn));
    await stage.hooks.close!();
    expect(asides[0]!.x.aborted?.code).to.equal('draining');
    expect((await asked).x.cache).to.equal('MISS');
  });

  it("by default uses the deployment's embedder; without one, the cache is a simple one", async () => {
    const own = JSON.stringify({ provider: '@up', cache: { mode: 'semantic' } });
    const set = await open(byWords, { embedding: '@ours/some/model' });
    set.stage.config = own;
    expect((await set.ask(asking('How do I reset my password?'))).x.cache).to.equal('SEMANTIC MISS');
    expect(asides[0]!.target.provider).to.equal('@ours');
    expect(asides[0]!.x.request.json).to.include({ model: 'some/model' });
    organisation++;
    const unset = await open();
    unset.stage.config = own;
    expect((await unset.ask(asking('How do I reset my password?'))).x.cache).to.equal('MISS');
    expect((await unset.ask(asking('How do I reset my password?'))).x.cache).to.equal('HIT');
    expect(asides.length).to.equal(1);
  });

  it('a refreshed answer takes the place of the one that was found', async () => {
    const { ask, stage } = await open();
    await ask(asking('How do I reset my password?'), 'old');
    const call = mine(asking('How do I reset my password?'));
    const x = stage.call(call);
    x.request.headers.push('x-gateway-cache-force-refresh', 'true');
    expect(await stage.look(x)).to.equal(undefined);
    expect(x.cache).to.equal('REFRESH');
    stage.answer(x, completion('new'));
    stage.over(x);
    const found = await ask(asking('How can I reset the password'));
    expect([found.x.cache, found.text]).to.deep.equal(['SEMANTIC HIT', 'new']);
  });

  it('an answer older than the call takes is not found', async () => {
    const { ask, stage } = await open();
    const { x } = await ask(asking('How do I reset my password?'));
    const later = stage.call(mine(asking('How can I reset the password')));
    Object.assign(later, { startedAt: x.startedAt + 20_000 });
    later.request.headers.push('x-gateway-cache-ttl', '10');
    expect(await stage.look(later)).to.equal(undefined);
    expect(later.cache).to.equal('SEMANTIC MISS');
  });

  it('who waits for the same call gets what that one finds, unless it is too old', async () => {
    const { ask, stage, hub } = await open();
    const { x } = await ask(asking('How do I reset my password?'), 'Click.');
    const calls = [0, 1, 2].map(() => stage.call(mine(asking('How can I reset the password'))));
    for (const call of calls) Object.assign(call, { startedAt: x.startedAt + 20_000 });
    calls[2]!.request.headers.push('x-gateway-cache-ttl', '10');
    const replies = await Promise.all(calls.map((call) => stage.look(call)));
    expect(calls.map(({ cache }) => cache)).to.deep.equal(['SEMANTIC HIT', 'SEMANTIC HIT', 'MISS']);
    expect(replies.map((reply) => reply === undefined)).to.deep.equal([false, false, true]);
    await hub.quiet();
  });

  it('is asked for in a stream as well as whole', async () => {
    const { ask, stage } = await open();
    await ask(asking('How do I reset my password?'), 'Click.');
    const x = stage.call(mine(asking('How can I reset the password', { stream: true })));
    const reply = (await stage.look(x)) as Reply;
    expect(x.cache).to.equal('SEMANTIC HIT');
    expect(reply.events).to.equal(true);
    expect(String(reply.body)).to.include('Click.').and.include('[DONE]');
  });

  describe('scopes', () => {
    const system = (content: string): JsonObject[] => [{ role: 'system', content }];
    const earlier = (content: string): JsonObject[] => [
      { role: 'user', content },
      { role: 'assistant', content: 'Yes' },
    ];
    const body = (more: JsonObject, before: readonly JsonObject[] = []) => ({
      model: 'm',
      messages: [...before, { role: 'user', content: 'How do I reset my password?' }],
      ...more,
    });
    /** Ways for a call to differ from the usual one, each in one thing alone. */
    const differences: Readonly<Record<string, (word: string) => Partial<CallFacts>>> = {
      organisation: (word) => ({ organisation: word }),
      workspace: (word) => ({ workspace: word }),
      key: (word) => ({ key: word }),
      metadata: (word) => ({ metadata: { team: word } }),
      namespace: (word) => ({ namespace: word }),
      credential: (word) => ({ credential: word }),
      'stored credential': (word) => ({ storedCredential: word }),
      'config version': (word) => ({ configVersion: word }),
      'guardrail version': (word) => ({ guardrails: word }),
      header: (word) => ({ header: word }),
      model: (word) => ({ body: body({ model: word }) }),
      'system prompt': (word) => ({ body: body({}, system(word)) }),
      'earlier messages': (word) => ({ body: body({}, earlier(word)) }),
      tools: (word) => ({ body: body({ tools: [{ type: 'function', function: { name: word } }] }) }),
      response_format: (word) => ({ body: body({ response_format: { type: word } }) }),
      temperature: (word) => ({ body: body({ temperature: word.length }) }),
      user: (word) => ({ body: body({ user: word }) }),
      name: (word) => ({
        body: body({ messages: [{ role: 'user', name: word, content: 'How do I reset my password?' }] }),
      }),
    };
    const names = Object.keys(differences);
    const word = fc.string({ minLength: 1, maxLength: 5, unit: fc.constantFrom('a', 'b', '|', ':', '1') });
    /** The same call with its question in other words. */
    const reworded = (facts: CallFacts): CallFacts =>
      JSON.parse(
        JSON.stringify(facts).replace('How do I reset my password?', 'Can I reset a password'),
      ) as CallFacts;

    it('no call gets the answer of another by its meaning, over every pair of what they may differ in', async function () {
      this.timeout(20_000);
      for (const [at, a] of names.entries()) {
        for (const b of names.slice(at)) {
          const { ask } = await open();
          const [one = '', other = ''] = fc.sample(word, { numRuns: 2, seed: at + names.indexOf(b) * 100 });
          const base = { ...usualFacts, body: body({}) };
          const calls = [
            base,
            { ...base, ...differences[a]!(one) },
            { ...base, ...differences[b]!(`${other}2`) },
          ];
          organisation++;
          for (const [i, facts] of calls.entries()) {
            const isNew = await ask(reworded(facts), `${i}`);
            expect(isNew.text, `${a} × ${b}: ${JSON.stringify(facts)}`).to.equal(`${i}`);
            const again = await ask(facts, 'nobody is asked');
            expect([again.x.cache, again.text], `${a} × ${b}`).to.deep.equal(['SEMANTIC HIT', `${i}`]);
          }
        }
      }
    });

    it('a namespace shares across keys and metadata', async () => {
      const { ask } = await open();
      const facts = { ...asking('How do I reset my password?'), namespace: 'team' };
      await ask({ ...facts, key: 'one', metadata: { a: '1' } }, 'shared');
      const { x, text } = await ask({
        ...facts,
        ...{ body: asking('Can I reset a password').body },
        key: 'two',
      });
      expect([x.cache, text]).to.deep.equal(['SEMANTIC HIT', 'shared']);
    });

    it('vectors of one embedder are not compared with those of another', async () => {
      for (const [mark, embedding, cache] of [
        ['', '@ours/words', 'SEMANTIC MISS'],
        ['?', '@ours/words-2', 'SEMANTIC MISS'],
        ['!', '@ours/words', 'SEMANTIC HIT'],
      ]) {
        const { ask, stage } = await open(byWords, { embedding });
        stage.config = JSON.stringify({ provider: '@up', cache: { mode: 'semantic' } });
        const { x } = await ask(asking(`How do I reset my password${mark}`));
        expect(x.cache, embedding).to.equal(cache);
      }
    });
  });

  describe('which calls are compared', () => {
    const said = (
      facts: JsonObject,
      name = 'chat',
      format = 'openai-chat',
      config: ResolvedConfig = defaultConfig,
    ) => questionIn({ endpoint: { name, format }, request: { json: facts }, config } as unknown as Exchange);
    const user = (content: unknown) => ({ role: 'user', content });

    it('none whose words decide where it goes', () => {
      const by = (field: string): ResolvedConfig =>
        compileConfig(
          `{"strategy":{"mode":"conditional","conditions":[{"query":{"${field}":{"$regex":"secret"}},"then":"a"}],"default":"b"},
            "targets":[{"name":"a","provider":"openai"},{"name":"b","provider":"openai"}]}`,
          { slug: null, version: 'inline', isProvider: () => true },
        );
      const chat = { messages: [user('Tell me the secret')] };
      expect(said(chat, 'chat', 'openai-chat', by('params.messages[0].content'))).to.equal(null);
      const completion = ['completions', 'openai-completions'] as const;
      expect(said({ prompt: 'The secret is' }, ...completion, by('params.prompt'))).to.equal(null);
      expect(said(chat, 'chat', 'openai-chat', by('params.model'))?.text).to.equal('Tell me the secret');
    });

    it('chats of at most four messages, by the last of the user', () => {
      const messages = [
        { role: 'system', content: 'Be brief' },
        user('One'),
        { role: 'assistant', content: 'Two' },
      ];
      expect(said({ messages: [...messages, user('Three')] })?.text).to.equal('Three');
      expect(said({ messages })?.text, 'though another has the last word').to.equal('One');
      expect(said({ messages: [...messages, user('Three'), user('Four')] })).to.equal(null);
      expect(said({ messages: [messages[0]] })).to.equal(null);
    });

    it('texts alone: with a picture, a file or no text there is nothing to compare', () => {
      const text = (value: unknown) => ({ type: 'text', text: value });
      expect(said({ messages: [user([text('a'), text('b')])] })?.text).to.equal('a\nb');
      expect(said({ messages: [user([text('a'), { type: 'image_url', image_url: {} }])] })).to.equal(null);
      expect(said({ messages: [user([text(1)])] })).to.equal(null);
      expect(said({ messages: [user('  \n')] })).to.equal(null);
      expect(said({ messages: [user(null)] })).to.equal(null);
      expect(said({ messages: 'Hello' })).to.equal(null);
    });

    it('Anthropic messages and prompts too; neither embeddings nor anything else', () => {
      expect(
        said({ system: 'x', messages: [user('Hi')] }, 'messages', 'anthropic-messages')?.rest,
      ).to.include('"x"');
      expect(said({ prompt: 'Say' }, 'completions', 'openai-completions')?.text).to.equal('Say');
      expect(said({ prompt: ['Say'] }, 'completions', 'openai-completions')).to.equal(null);
      expect(said({ input: 'Say' }, 'embeddings', 'openai-embeddings')).to.equal(null);
      expect(said({ input: 'Say' }, 'responses', 'openai-responses')).to.equal(null);
    });

    it('a chat streams or not: that is no difference; in other formats it is', () => {
      const messages = [user('Hi')];
      const whole = said({ messages })?.rest;
      expect(said({ messages, stream: true, stream_options: {} })?.rest).to.equal(whole);
      expect(said({ messages, stream: true }, 'messages', 'anthropic-messages')?.rest).to.not.equal(whole);
    });

    it('under 8191 tokens: those of long ones are counted, short ones cannot have so many', async () => {
      const long = `password ${'word '.repeat(2000)}`;
      for (const [tokens, cache] of [
        [8190, 'SEMANTIC MISS'],
        [8191, 'MISS'],
        [null, 'MISS'],
      ] as const) {
        organisation++;
        const { ask } = await open(byWords, {}, { inputTokens: async () => tokens });
        expect((await ask(asking(long))).x.cache).to.equal(cache);
      }
      const { ask } = await open(byWords, {}, { inputTokens: () => expect.fail('counted') as never });
      expect((await ask(asking('word '.repeat(20_000)))).x.cache).to.equal('MISS');
      expect((await ask(asking('short'))).x.cache).to.equal('SEMANTIC MISS');
    });
  });

  describe('an embedder or index that is down', () => {
    const failures: Readonly<Record<string, Aside>> = {
      'has no answer': async () => null,
      'answers with an error': async () => ({ ...answered(Buffer.from('{}')), status: 500 }),
      'answers with no JSON': async () => answered(Buffer.from('<html>')),
      'answers with no vector': async () => answered(Buffer.from('{"data":[{"embedding":[]}]}')),
      'answers with what are no numbers': async () =>
        answered(Buffer.from('{"data":[{"embedding":["a",null]}]}')),
      'answers with more than a worker may parse': async () =>
        answered(Buffer.from(JSON.stringify({ data: [{ embedding: [1, 0] }], more: 'x'.repeat(600_000) }))),
      'answers with zeros': async () => answered(Buffer.from('{"data":[{"embedding":[0,0]}]}')),
    };
    for (const [name, aside] of Object.entries(failures)) {
      it(`${name}: a plain miss, and what is the same is found`, async () => {
        const { ask } = await open(aside);
        expect((await ask(asking('How do I reset my password?'))).x.cache).to.equal('MISS');
        expect((await ask(asking('How do I reset my password?'))).x.cache).to.equal('HIT');
      });
    }

    it('is not asked for a while after three failures in a row', async () => {
      const { ask } = await open(async () => null);
      for (let i = 0; i < 6; i++) await ask(asking(`Question ${i}`));
      expect(asides.length).to.be.within(2, 3);
    });

    it('there is no index: nothing is embedded after the first time', async () => {
      const hub = new SharedHub();
      new Questions(hub.server, async () => null);
      const { ask } = await open(byWords, {}, { shared: hub.worker() });
      for (let i = 0; i < 3; i++) expect((await ask(asking(`Question ${i}`))).x.cache).to.equal('MISS');
      expect(asides.length).to.equal(1);
    });

    it('the index fails: a plain miss', async () => {
      const hub = new SharedHub();
      hub.server.answer('vector-find', () => Promise.reject(new Error('away')));
      const { ask } = await open(byWords, {}, { shared: hub.worker() });
      expect((await ask(asking('How do I reset my password?'))).x.cache).to.equal('MISS');
    });

    it('who answers too late is waited for no longer', async () => {
      const guard = new TimeoutGuard({ deadlineMs: 5, maxFailures: 2, restMs: 30 });
      let asked = 0;
      const never = () => {
        asked++;
        return new Promise<string>(() => {});
      };
      for (let i = 0; i < 4; i++) expect(await guard.ask(never)).to.equal(null);
      expect(asked, 'left alone after two').to.equal(2);
      await new Promise((wait) => setTimeout(wait, 35));
      expect(await guard.ask(async () => 'there')).to.equal('there');
    });
  });

  describe('checks', () => {
    /** Embeds by words, and answers what it is asked. */
    const answering =
      (text: string): Aside =>
      (x, target) =>
        x.endpoint.name === 'embeddings' ? byWords(x, target) : Promise.resolve(answered(completion(text)));

    async function afterOne(fresh: Aside, random = 0) {
      const { ask, stage, hub } = await open(fresh, { checkPercent: 1 }, { random: () => random });
      await ask(asking('How do I reset my password?'), 'Click the red button');
      expect((await ask(asking('Can I reset a password'))).x.cache).to.equal('SEMANTIC HIT');
      for (let i = 0; i < 10; i++) {
        await new Promise((turn) => setImmediate(turn));
        await hub.quiet();
      }
      const checked = asides.filter(({ x }) => '_cache_check_of' in x.metadata);
      const counts = stage.metrics
        .read()
        .filter(({ name }) => name === 'gateway_cache_semantic_checks_total')
        .map(({ labels, value }) => [labels['outcome'], value]);
      const { x } = await ask(asking('You reset the password'), 'Anew');
      return { checked, counts: Object.fromEntries(counts) as Record<string, number>, after: x.cache };
    }

    it('asks the same target again, with the question that was asked now', async () => {
      const { checked } = await afterOne(answering('Click the red button'));
      expect(checked.length).to.equal(1);
      const [{ x, target }] = checked as [(typeof checked)[0]];
      expect(target.provider).to.equal('@up');
      expect(x.request.bytes!.toString()).to.include('Can I reset a password');
      expect(x.request.json).to.not.have.property('stream');
    });

    it('counts an answer with the same meaning, in other words', async () => {
      const same = await afterOne(answering('the button: click the RED'));
      expect(same.counts).to.include({ agreed: 1, disagreed: 0 });
      expect(same.after).to.equal('SEMANTIC HIT');
    });

    it('lets an answer go that a fresh one contradicts', async () => {
      const other = await afterOne(answering('Nobody has passwords here'));
      expect(other.counts).to.include({ agreed: 0, disagreed: 1 });
      expect(other.after).to.equal('SEMANTIC MISS');
    });

    it('counts nothing where there is no fresh answer', async () => {
      const none = await afterOne((x, target) =>
        x.endpoint.name === 'embeddings' ? byWords(x, target) : Promise.resolve(null),
      );
      expect(none.counts).to.include({ agreed: 0, disagreed: 0, failed: 1 });
      expect(none.after).to.equal('SEMANTIC HIT');
    });

    it('are made of the share that was set', async () => {
      expect((await afterOne(answering('Nobody'), 0.0099)).checked.length).to.equal(1);
      organisation++;
      asides = [];
      expect((await afterOne(answering('Nobody'), 0.0101)).checked.length).to.equal(0);
    });
  });
});
