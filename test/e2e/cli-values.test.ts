import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startPlane } from '../support/admin-plane.js';
import { type CliBench, headgateHere, type Json, startCliBench } from '../support/cli-bench.js';

const days = (count: number): number => count * 86_400_000;

describe('command lines of resources', function () {
  this.timeout(20_000);
  let bench: CliBench;
  before(async () => {
    bench = await startCliBench();
  });
  after(() => bench?.close());

  const newKey = 'api-keys create --type workspace --sub-type service --workspace default';
  const newLabel = 'labels create --workspace default';
  const newUser = 'users create --role member';

  describe('are described in the help', () => {
    it('by flags of fields inside of fields, pairs, commas or repetition, JSON, days', async () => {
      const { id } = await bench.read(
        `${newKey} --name ways --scopes logs.list,logs.view --scopes completions.write`,
        '--defaults.metadata team=a=b --defaults.metadata {"floor":"2"} --defaults.allow-config-override false',
        '--usage-limits.credit-limit 20 --usage-limits {"credit_limit":10,"alert_threshold":5} --expires-at 30d',
        '--rate-limits type=requests,unit=rpm,value=3 --rate-limits [{"type":"tokens","unit":"rph","value":9}]',
      );
      const key = await bench.read(`api-keys get ${id}`);
      expect(key['scopes']).to.have.members(['logs.list', 'logs.view', 'completions.write']);
      expect(key['defaults']).to.deep.include({
        metadata: { team: 'a=b', floor: '2' },
        allow_config_override: false,
      });
      expect(key['usage_limits']).to.include({ credit_limit: 20, alert_threshold: 5 });
      expect(key['rate_limits']).to.deep.equal([
        { type: 'requests', unit: 'rpm', value: 3 },
        { type: 'tokens', unit: 'rph', value: 9 },
      ]);
      expect(Date.parse(String(key['expires_at'])) - Date.now()).to.be.within(days(29), days(30));
    });

    it('of what is to be cleared too, inside of fields and whole', async () => {
      const { id } = await bench.read(
        `${newKey} --name clear --scopes logs.list --expires-at 30d --description d`,
        '--defaults.metadata a=b --defaults.allow-config-override false --rate-limits type=requests,unit=rpm,value=3',
      );
      const cleared = '--clear expires-at,description --clear rate_limits --clear defaults.metadata';
      await bench.read(`api-keys update ${id} --name still ${cleared}`);
      const key = await bench.read(`api-keys get ${id}`);
      expect(key).to.deep.include({ name: 'still', expires_at: null, description: null, rate_limits: [] });
      expect(key['defaults']).to.deep.include({ metadata: {}, allow_config_override: false });
    });

    it('as a body, over which flags win', async () => {
      const body = bench.file('{"name":"body","description":"of the body"}');
      const { id } = await bench.read(`${newLabel} --body @${body} --name flag`);
      const found = await bench.read(`labels get ${id} --workspace default`);
      expect(found).to.include({ name: 'flag', description: 'of the body' });
    });
  });

  describe('are refused before any call', () => {
    const integration = 'integrations create --name x --ai-provider-id bedrock';
    for (const [wrong, typed, said] of [
      ['without a field that is needed', newLabel, /^headgate: --name is required\.$/m],
      ['without an argument', 'labels get', /missing required argument 'id'/],
      ['with a body that was typed', `${newLabel} --body {"name":"x"}`, /--body takes @file/],
      ['with a number that is none', 'labels list --page-size many', /--page-size must be a number/],
      ['with a fraction', 'labels list --page-size 1.5', /--page-size must be a whole number/],
      ['with a choice that is none', 'users create --email a@b.cd --role king', /--role must be one of/],
      [
        'with a truth that is none',
        'workspaces delete x --name x --force-delete so',
        /--force-delete must be true or false/,
      ],
      ['with a pair of no field', `${newUser} --email a@b.cd --workspaces ws=1`, /name=value,… of id, role/],
      ['with a time that is none', 'api-keys update x --expires-at soon', /--expires-at soon: give days/],
      ['with nothing to change', 'labels update x --workspace default', /Nothing is to be changed/],
      ['clearing what is no field', 'labels update x --clear nome', /--clear nome: there is no such field/],
      ['clearing what must be there', 'labels update x --clear name', /--name cannot be cleared/],
      ['with two inputs of one', `${integration} --key-file - --body -`, /Standard input can be read once/],
      [
        'with a secret in plain sight',
        `${integration} --configurations {"aws_secret_access_key":"s3cret"}`,
        /aws_secret_access_key is a secret/,
      ],
    ] as const) {
      it(wrong, async () => {
        const { code, stdout, stderr } = await bench.type(typed);
        expect([code, stdout], stderr).to.deep.equal([2, '']);
        expect(stderr).to.match(said).and.not.include('s3cret');
      });
    }

    it('with an unknown field in a body', async () => {
      const body = bench.file('{"nmae":"x"}');
      expect(await bench.fails(2, `${newLabel} --body @${body}`)).to.match(/"nmae" is not a field/);
    });

    it('with a file that is no JSON, of which nothing is quoted: it may be a secret', async () => {
      const file = bench.file('sk-secret-secret');
      const said = await bench.fails(2, `${integration} --configurations @${file}`);
      expect(said).to.include('--configurations is not JSON').and.not.include('sk-');
    });
  });

  it('are named by their flags in what the gateway refuses', async () => {
    const said = await bench.fails(3, `${newUser} --email z@example.com --workspaces id=nowhere,role=member`);
    expect(said).to.match(/^headgate: --workspaces\[0\]/);
  });

  describe('print', () => {
    it('the text of a key once, and a word to keep it; to programs the answer alone', async () => {
      const made = await bench.type(`${newKey} --name once --scopes completions.write`);
      expect(made.stdout).to.match(/^id +\S+\nkey +\S{20,}\n$/);
      expect(made.stderr).to.equal('Keep the key: it is not shown again.\n');
      const [, id = '', text = ''] = /^id +(\S+)\nkey +(\S+)/.exec(made.stdout) ?? [];
      const rotated = await bench.read(`api-keys rotate ${id}`);
      expect(rotated['key']).to.be.a('string').and.not.equal(text);
      const { stdout } = await bench.type('api-keys list');
      expect(stdout).to.include(id).and.not.include(text).and.not.include(String(rotated['key']));
    });

    it('texts of others without letting them steer the terminal', async () => {
      const name = '\u001b[2Jred\u202e\nline';
      const body = bench.file(JSON.stringify({ name, scopes: ['logs.list'] }));
      const { id } = await bench.read(`${newKey} --body @${body}`);
      for (const typed of ['api-keys list', `api-keys get ${id}`]) {
        const { stdout } = await bench.type(typed);
        expect(stdout).to.include('\\u001b[2Jred\\u202e\\nline');
        expect(stdout).to.not.include('\u001b').and.not.include('\u202e');
      }
      expect(await bench.read(`api-keys get ${id}`)).to.include({ name });
    });

    it('every row of a list, or the page that was asked for and how many there are', async () => {
      for (const name of ['a', 'b', 'c']) await bench.read(`${newUser} --email ${name}@example.com`);
      const total = (await bench.rows('users list')).length;
      expect(total).to.be.at.least(3);
      const { stdout, stderr } = await bench.type('users list --page-size 2');
      expect(stdout.trimEnd().split('\n')).to.have.length(3);
      expect(stderr).to.equal(`2 of ${total} are shown.\n`);
    });

    it('a file as it is, and long lists whose pages are short', async () => {
      for (let i = 0; i < 100; i += 1)
        await bench.plane.admin.api.users.deleteUser({ user_id: 'none' }).catch(() => {});
      const { code, stdout } = await bench.type('audit-logs export --start-time -1d --end-time 1d');
      expect(code).to.equal(0);
      const rows = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Json);
      expect(rows.length).to.be.greaterThan(100);
      const listed = await bench.rows('audit-logs list --start-time -1d --end-time 1d');
      expect(listed.length).to.be.at.least(rows.length);
    });
  });

  it('go over TLS, to a gateway whose authority is named', async () => {
    const [cert, key] = [join(bench.folder, 'cert.pem'), join(bench.folder, 'key.pem')];
    const kind = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1';
    const name = '-subj /CN=localhost -addext subjectAltName=DNS:localhost';
    const args = `req ${kind} ${name} -keyout ${key} -out ${cert}`;
    execFileSync('openssl', args.split(' '), { stdio: 'ignore' });
    const plane = await startPlane({ tls: { cert: readFileSync(cert), key: readFileSync(key) } });
    const list = `users list --address localhost:${plane.server.port} --admin-key-file ${bench.file(plane.first.admin_key)}`;
    try {
      expect(await headgateHere(`${list} --ca-file ${cert}`.split(' '))).to.include({ code: 0, stderr: '' });
      const strange = await headgateHere(`${list} --tls`.split(' '));
      expect(strange.code).to.equal(1);
      expect(strange.stderr).to.match(/^headgate: No gateway answers at \S+ over TLS: .*self-signed cert/);
    } finally {
      await plane.close();
    }
  });

  it('let the invited in without a key', async () => {
    const invited = await bench.read(
      'invites create --email in@example.com --role member --workspaces id=default,role=member',
    );
    const token = bench.file(`${/[^=/]+$/.exec(String(invited['invite_link']))?.[0]}\n`);
    const accept = `invites accept --token-file ${token} --address ${bench.address} --json`;
    const { code, stdout, stderr } = await headgateHere(accept.split(' '));
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.have.nested.property('user.email', 'in@example.com');
  });

  it('have friendlier names for what is done often', async () => {
    const { slug } = await bench.read('workspaces create --name Away');
    const { code, stdout } = await bench.type(`workspaces archive ${slug} --name Away`);
    expect([code, stdout]).to.deep.equal([0, `Done: workspaces delete ${slug}\n`]);
  });
});
