/** Apart from the templates, whose imports are not this file's. */
const entry = "'headgate/plugin'";

/** The files of a new plugin's folder, by name; `dependency` is the version of headgate, or its folder. */
export function templates(name: string, dependency: string): Readonly<Record<string, string>> {
  return {
    'index.ts': plugin(name),
    'index.test.js': test(name),
    'sample.json': `${JSON.stringify(sample, null, 2)}\n`,
    'package.json': `${JSON.stringify(manifest(name, dependency), null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(typescript, null, 2)}\n`,
    'README.md': readme(name),
  };
}

const plugin = (name: string): string => `import { definePlugin } from ${entry};

/** Options, as the settings of the gateway give them. The schema below checks them. */
interface Options {
  readonly header: string;
  readonly models: readonly string[];
}

export default definePlugin<Options>({
  name: '${name}',
  options: {
    type: 'object',
    properties: {
      header: { type: 'string', pattern: '^[a-z][a-z0-9-]*$', default: 'x-asked-by' },
      models: { type: 'array', items: { type: 'string' }, minItems: 1 },
    },
    required: ['models'],
    additionalProperties: false,
  },
  ledgerFields: { caller: { type: 'string', doc: 'Name of the key, as the provider got it.' } },

  setup: ({ header, models }, host) => ({
    // Before anything is sent: refuse, or answer.
    request(x) {
      if (x.modelAsked === null || models.includes(x.modelAsked)) return;
      throw host.error('model_not_allowed', \`Use one of \${models.join(', ')}.\`, { param: 'model' });
    },
    // Before each call to a provider: change what is sent.
    attempt(x, call) {
      call.setHeader(header, x.principal.keyName);
      host.record(x, 'caller', x.principal.keyName);
    },
  }),
});
`;

const test = (name: string): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inject } from ${entry};

const plugin = \`\${import.meta.dirname}/index.ts\`;
const options = { models: ['gpt-4o-mini'] };

test('${name} sends the name of the key to the provider, and records it', async () => {
  const { status, calls, row } = await inject(plugin, options, { principal: { keyName: 'billing' } });
  assert.equal(status, 200);
  assert.equal(calls[0].headers['x-asked-by'], 'billing');
  assert.deepEqual(row.fields['${name}'], { caller: 'billing' });
});

test('${name} refuses other models before a provider is called', async () => {
  const { status, json, calls } = await inject(plugin, options, {
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] },
  });
  assert.equal(status, 412);
  assert.equal(json.error.code, 'model_not_allowed');
  assert.equal(calls.length, 0);
});

test('${name} is refused with options that its schema does not allow', async () => {
  await assert.rejects(inject(plugin, { models: [] }), /options.models/);
});
`;

const sample = {
  options: { models: ['gpt-4o-mini'] },
  request: {
    path: '/v1/chat/completions',
    body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
  },
};

const manifest = (name: string, dependency: string): object => ({
  name: `headgate-plugin-${name}`,
  version: '0.1.0',
  private: true,
  type: 'module',
  scripts: {
    test: 'headgate plugin test',
    check: 'headgate plugin check',
    bench: 'headgate plugin bench',
  },
  dependencies: { headgate: dependency },
});

const typescript = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
  },
  include: ['*.ts'],
};

const readme = (name: string): string => `# ${name}

A plugin of [Headgate](https://www.npmjs.com/package/headgate). It refuses requests for models that are not in \`models\`,
and sends the name of the caller's key to the provider.

\`\`\`sh
npm install                  # types for your editor, and the command below
npx headgate plugin test     # declaration, every wire format, then index.test.js
npx headgate plugin check    # declaration and the options of sample.json
npx headgate plugin bench    # what it costs a request, in microseconds
\`\`\`

None of them needs a running gateway or a key: the provider is simulated. \`node --test\` runs the tests alone. Where headgate
is installed already, \`npx headgate plugin test ${name}\` in the folder above this one needs no \`npm install\`.

| file | content |
| --- | --- |
| \`index.ts\` | the plugin: its options with their schema, and its hooks. The gateway loads it as it is |
| \`index.test.js\` | its tests |
| \`sample.json\` | \`options\`, and a \`request\` that \`test\` and \`bench\` send |

## In a gateway

The settings name the folder above this one, and the plugin's place:

\`\`\`yaml
plugins:
  directory: ./plugins        # has ${name}/index.ts
  insert:
    - name: ${name}
      after: config
      options:
        models: [gpt-4o-mini]
\`\`\`

| option | default | meaning |
| --- | --- | --- |
| \`header\` | \`x-asked-by\` | header in which the provider gets the name of the key |
| \`models\` | | models that may be asked for |
`;
