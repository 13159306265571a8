import { expect } from 'chai';
import type { Command } from 'commander';
import { type AdminMethod, adminTree } from '../../proto/tree.js';
import { flagsOf } from '../../src/cli/input/fields.js';
import { buildProgram } from '../../src/cli/program.js';
import { argumentsOf, resourceName, verbOf } from '../../src/cli/verbs.js';
import { type CliBench, type Json, startCliBench } from '../support/cli-bench.js';

/** What a resource is made from and changed by, as it is typed; `{secret}` is a file. */
interface Trip {
  readonly create: string;
  readonly update?: string;
  /** What the record says after that. */
  readonly changed?: Json;
  /** Typed with every command. */
  readonly where?: string;
  readonly remove?: string;
}

const renamed = { update: '--name changed', changed: { name: 'changed' } };
const inDefault = { where: '--workspace default' };
const policy = '--conditions key=model,value=@openai/* --group-by key=api_key';
const reaction = '{"feedback":{"value":1,"weight":1}}';
const check = '{"id":"default.wordCount","parameters":{"minWords":1}}';
const credential = '--provider openai --key-file {secret}';

const trips: Readonly<Record<string, Trip>> = {
  ApiKeys: {
    create: '--type workspace --sub-type service --name x --workspace default --scopes completions.write',
    update: '--name changed --usage-limits.credit-limit 10',
    changed: { name: 'changed' },
  },
  Collections: { create: '--name x', ...renamed, ...inDefault },
  Configs: { create: '--name x --config {"provider":"openai"}', ...renamed, ...inDefault },
  Deployments: { create: '--name x --slug dp-x', ...renamed },
  Guardrails: {
    create: `--name x --checks ${check} --actions {"deny":true,"async":false,"on_success":${reaction},"on_fail":${reaction}}`,
    ...renamed,
    ...inDefault,
  },
  Integrations: { create: '--name x --ai-provider-id openai --key-file {secret}', ...renamed },
  Invites: { create: '--email i@example.com --role member --workspaces id=default,role=member' },
  Labels: {
    create: '--name x',
    update: '--description changed',
    changed: { description: 'changed' },
    ...inDefault,
  },
  Plugins: { create: '--plugin-provider-id patronus --credentials-file {credentials}', ...renamed },
  Providers: { create: `--name x ${credential}`, ...renamed, ...inDefault },
  RateLimitsPolicies: {
    create: `${policy} --type requests --unit rpm --value 5`,
    ...renamed,
    ...inDefault,
  },
  SecretReferences: { create: '--name x --manager-type env --secret-path OPENAI_API_KEY', ...renamed },
  SavedFilters: { create: '--name x --filters {"status_code":"500"}', ...renamed, ...inDefault },
  UsageLimitsPolicies: { create: `${policy} --type cost --credit-limit 5.5`, ...renamed, ...inDefault },
  Users: {
    create: '--email u@example.com --role member --first-name Ada',
    update: '--role admin',
    changed: { role: 'admin' },
  },
  VirtualKeys: { create: `--name x ${credential}`, ...renamed, ...inDefault },
  Workspaces: {
    create: '--name x --defaults.metadata team=a --defaults.metadata floor=2',
    update: '--name changed --settings.debug-log 0',
    changed: { name: 'changed' },
    remove: '--name changed',
  },
};

/** Commands written by hand in place of the one that the method would have: their own tests show them. */
const byHand = new Set(['Logs.ImportLogs']);
/** What cannot be deleted, or not be read as a record of its own: its own tests show its commands. */
const reports = new Set(['Feedback', 'LogExports', 'Logs', 'ScimMappings']);

const methodsOf = (service: string): AdminMethod[] =>
  [...adminTree().methods.values()].filter((method) => method.service === service);
const services = [...adminTree().comments.keys()];
const methodNamed = (service: string, verb: string): AdminMethod | undefined =>
  methodsOf(service).find((method) => verbOf(method) === verb);

describe('a command for every method', () => {
  let program: Command;
  before(async () => {
    program = await buildProgram(services.map(resourceName));
  });

  const commandOf = (method: AdminMethod): Command | undefined =>
    program.commands
      .find((command) => command.name() === resourceName(method.service))
      ?.commands.find((command) => command.name() === verbOf(method));

  for (const service of services) {
    it(`of ${service}: a name of its own, and help that describes everything`, () => {
      const methods = methodsOf(service);
      expect(new Set(methods.map(verbOf))).to.have.property('size', methods.length);
      for (const method of methods) {
        const command = commandOf(method);
        expect(command, method.name).to.be.an('object');
        const help = command?.helpInformation() ?? '';
        expect(help, method.name).to.not.match(/undefined|null\b.*null|NaN|\[object/);
        expect(command?.summary(), method.name).to.match(/\S/);
        if (byHand.has(method.name)) continue;
        for (const name of argumentsOf(method)) expect(help).to.include(`<${name.replaceAll('_', '-')}>`);
        for (const { name } of flagsOf(method)) expect(help, method.name).to.include(name);
      }
    });
  }

  it('takes every field of a request as an argument or a flag, but for those that an update cannot change', () => {
    for (const method of adminTree().methods.values()) {
      const flags = flagsOf(method).map(({ path }) => path[0]);
      for (const { name, apart, rules } of method.request.fields) {
        if (!apart && !(method.request.field('update_mask') !== undefined && rules.immutable === true))
          expect([...argumentsOf(method), ...flags], method.name).to.include(name);
      }
    }
  });

  it('takes no secret as the value of a flag', () => {
    for (const method of adminTree().methods.values())
      for (const { field, name, option } of flagsOf(method))
        if (field.rules.secret === true) expect([name.endsWith('-file'), option.flags]).to.include(true);
  });

  it('is a line of headgate --help for each resource', async () => {
    const help = (await buildProgram([])).helpInformation().split('\n');
    for (const service of services)
      expect(help.filter((line) => line.startsWith(`  ${resourceName(service)} `))).to.have.length(1);
    expect(help.slice(help.indexOf('Resources:')).filter((line) => line !== '')).to.have.length(
      services.length + 1,
    );
  });
});

describe('commands of resources', function () {
  this.timeout(20_000);
  let bench: CliBench;
  before(async () => {
    bench = await startCliBench();
  });
  after(() => bench?.close());

  it('make a user and a group of SCIM, map the group to a workspace, and end the mapping', async () => {
    const { id: organisation } = await bench.read('organisations get');
    const scim = (verb: string, more = ''): string => `scim ${verb} ${organisation} ${more}`.trim();
    const made = await bench.read(scim('create-user', '--resource {"userName":"cli@scim.example"}'));
    const { id } = made['resource'] as { id: string };
    await bench.read(scim('create-group', `--resource {"displayName":"Cli","members":["${id}"]}`));
    const patch = '{"Operations":[{"op":"replace","path":"title","value":"Tester"}]}';
    const patched = await bench.read(scim('patch-user', `${id} --patch ${patch}`));
    expect(patched['resource']).to.deep.include({ id, title: 'Tester' });
    const mapping = '--workspace default --role member --scim-group-name cli';
    const { id: mapped } = await bench.read(`scim-mappings create ${mapping}`);
    const mappings = await bench.read('scim-mappings list');
    expect(mappings).to.have.length(1).and.to.have.nested.property('[0].id', mapped);
    expect(await bench.read(`scim-mappings delete ${mapped}`)).to.deep.equal({ success: true });
    expect((await bench.type(scim('list-users'))).stdout).to.include('cli@scim.example');
    const groups = await bench.read('scim-mappings list-groups');
    expect((await bench.type('scim-mappings list-groups')).stdout).to.match(/^ID +NAME\n\S+ +Cli\n$/);
    expect(groups).to.have.length(1).and.to.have.nested.property('[0].name', 'Cli');
  });

  describe('make, list, read, change and delete', () => {
    it('has a row here for each resource that can be made', () => {
      const made = services.filter(
        (service) => methodNamed(service, 'create') !== undefined && !reports.has(service),
      );
      expect(Object.keys(trips).sort()).to.deep.equal(made.sort());
    });

    for (const [service, trip] of Object.entries(trips)) {
      it(resourceName(service), async () => {
        const secret = 'sk-of-the-resources-test';
        const on = (verb: string, ...more: readonly (string | undefined)[]): string =>
          [resourceName(service), verb, ...more, trip.where].filter((word) => word !== undefined).join(' ');

        const create = `${on('create', trip.create)} --request-id ${service}`
          .replace('{secret}', bench.file(secret))
          .replace('{credentials}', bench.file(JSON.stringify({ apiKey: secret })));
        const made = await bench.read(create);
        expect(await bench.read(create)).to.deep.equal(made);
        const id = String(made['slug'] ?? made['id']);

        expect((await bench.rows(on('list'))).map((row) => row['id'])).to.include(made['id']);
        const table = await bench.type(on('list'));
        expect(table.stdout)
          .to.match(/^(SLUG|ID) /)
          .and.include(id);
        expect(JSON.stringify(made) + table.stdout).to.not.include(secret);

        if (trip.update !== undefined) {
          const { etag } = await bench.read(on('get', id));
          expect(etag).to.be.a('string').and.not.equal('');
          const update = on('update', id, trip.update, '--etag', String(etag));
          await bench.read(update);
          expect(await bench.read(on('get', id))).to.deep.include(trip.changed);
          expect(await bench.fails(4, update)).to.match(/^headgate: --etag/);
        }
        const shown = await bench.type(on('get', id));
        expect(shown.code, shown.stderr).to.equal(0);
        expect(shown.stdout).to.match(/\S/).and.not.include(secret);

        await bench.read(on('delete', id, trip.remove));
        const gone = await bench.type(`${on('get', id)} --json`);
        // Some are archived, and can be read on.
        if (gone.code === 0) expect(JSON.parse(gone.stdout)['status']).to.be.oneOf(['archived', 'cancelled']);
        else expect(gone.code, gone.stderr).to.equal(3);
      });
    }
  });
});
