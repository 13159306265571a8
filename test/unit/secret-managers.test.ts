import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type SecretAccess, SecretFailure } from '../../src/common/http/secret-access.js';
import type { SecretReferenceRecord } from '../../src/common/ipc/records.js';
import { awsSecretsManager } from '../../src/control-plane/secret-references/managers/aws-secrets-manager.js';
import { FileSecrets } from '../../src/control-plane/secret-references/managers/env-and-file.js';
import { HashicorpVault } from '../../src/control-plane/secret-references/managers/hashicorp-vault.js';
import { SecretAccesses } from '../../src/data-plane/providers/auth/secret-manager-access.js';
import { accepted, type SecretManagers, startSecretManagers } from '../support/secret-managers.js';

describe('Secret managers', () => {
  let managers: SecretManagers;
  let accesses: SecretAccesses;
  let access: SecretAccess;
  let folder: string;

  before(async () => {
    managers = await startSecretManagers();
    accesses = new SecretAccesses([], 500);
    access = await accesses.of('o');
    folder = mkdtempSync(join(tmpdir(), 'headgate-managers-'));
    writeFileSync(join(folder, 'token'), `${accepted.podToken}\n`);
    managers.secrets.set('kv/x', { key: 'of kv' });
  });
  after(async () => {
    await accesses.close();
    await managers.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    managers.fault = 'none';
  });

  const vaultReference = (auth: Record<string, string>, secretPath = 'kv/x'): SecretReferenceRecord => ({
    id: 'r',
    revision: 1,
    organisationId: 'o',
    slug: 's',
    managerType: 'hashicorp_vault',
    auth: { vault_addr: managers.url, ...auth },
    secretPath,
    secretKey: null,
    isAllowed: true,
  });
  const kubernetes = { vault_auth_type: 'kubernetes', vault_role: accepted.vaultRole };
  const failureOf = (promise: Promise<unknown>): Promise<Error> =>
    promise.then(
      () => new Error('none'),
      (error) => error,
    );

  it('let a pod sign in to Vault by its service account, once for as long as the login lasts', async () => {
    const vault = new HashicorpVault(join(folder, 'token'));
    for (let i = 0; i < 3; i++)
      expect(await vault.fetch(vaultReference(kubernetes), access)).to.deep.equal({ key: 'of kv' });
    expect(managers.logins.get('auth/kubernetes/login')).to.equal(1);
  });

  it('are asked for no login where there is no pod', async () => {
    const vault = new HashicorpVault(join(folder, 'absent'));
    const failure = await failureOf(vault.fetch(vaultReference(kubernetes), access));
    expect(failure).to.be.instanceOf(SecretFailure);
    expect(failure.message).to.include('service account');
  });

  it('at AWS are signed for by the role of the instance', async () => {
    const environment = { ...process.env };
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    process.env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] = managers.url;
    process.env['AWS_ENDPOINT_URL_SECRETS_MANAGER'] = managers.url;
    process.env['AWS_REGION'] = 'eu-central-1';
    managers.secrets.set('of-the-instance', 'of aws');
    try {
      const reference = vaultReference({ aws_auth_type: 'serviceRole' }, 'of-the-instance');
      expect(await awsSecretsManager.fetch(reference, access)).to.equal('of aws');
    } finally {
      process.env = environment;
    }
  });

  it('that are slow are cut off', async () => {
    managers.fault = 'slow';
    const token = { vault_auth_type: 'token', vault_token: accepted.vaultToken };
    const failure = await failureOf(new HashicorpVault().fetch(vaultReference(token), access));
    expect(failure.message).to.equal('its secret manager does not answer');
  });

  it('at a metadata service are not asked', async () => {
    const token = { vault_auth_type: 'token', vault_token: 'x', vault_addr: 'http://169.254.169.254' };
    const failure = await failureOf(new HashicorpVault().fetch(vaultReference(token), access));
    expect(failure.message).to.include('HEADGATE_EGRESS_ALLOW');
  });

  it('are named in no error of theirs beyond a status', async () => {
    const token = { vault_auth_type: 'token', vault_token: 'canary-wrong' };
    const failure = await failureOf(new HashicorpVault().fetch(vaultReference(token), access));
    expect(failure.message).to.equal('its secret manager refused the gateway with status 403');
    expect(failure.cause).to.equal(undefined);
  });

  it('of files read small files alone', async () => {
    const files = new FileSecrets(folder);
    expect(await files.fetch({ secretPath: 'token' })).to.equal(accepted.podToken);
    writeFileSync(join(folder, 'large'), 'x'.repeat(300 * 1024));
    for (const [secretPath, words] of [
      ['large', '256 KiB'],
      ['.', 'outside'],
      ['../x', 'no such file'],
      ['..', 'outside'],
      [join(folder, 'token'), 'outside'],
      ['nul\0byte', 'no such file'],
    ] as const)
      expect((await failureOf(files.fetch({ secretPath }))).message, secretPath).to.include(words);
    expect((await failureOf(new FileSecrets(null).fetch({ secretPath: 'x' }))).message).to.include(
      'HEADGATE_SECRET_DIR',
    );
  });
});
