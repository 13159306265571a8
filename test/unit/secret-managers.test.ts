import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type SecretAccess, SecretFailure } from '../../src/common/http/secret-access.js';
import type { SecretReferenceRecord } from '../../src/common/ipc/records.js';
import { awsSecretsManager } from '../../src/control-plane/secret-references/managers/aws-secrets-manager.js';
import { azureKeyVault } from '../../src/control-plane/secret-references/managers/azure-key-vault.js';
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

  describe('with an identity of the gateway itself', () => {
    let environment: NodeJS.ProcessEnv;
    let tokenFile: string;
    let fresh: SecretAccesses;
    let own: SecretAccess;

    beforeEach(async () => {
      environment = { ...process.env };
      for (const name of Object.keys(process.env))
        if (/^(?:AWS|AZURE|IDENTITY)_/.test(name)) delete process.env[name];
      Object.assign(process.env, {
        AWS_ENDPOINT_URL: managers.url,
        AWS_REGION: 'eu-central-1',
        AZURE_AUTHORITY_HOST: managers.url,
      });
      tokenFile = join(folder, 'federated');
      writeFileSync(tokenFile, `${accepted.podToken}\n`);
      managers.logins.clear();
      managers.secrets.set('of-aws', 'of aws');
      managers.secrets.set('of-azure', 'of azure');
      // What one test has signed in with, another must not find.
      fresh = new SecretAccesses([], 500);
      own = await fresh.of('o');
    });
    afterEach(async () => {
      process.env = environment;
      await fresh.close();
    });

    const serviceRole = () => vaultReference({ aws_auth_type: 'serviceRole' }, 'of-aws');
    const byDefault = () =>
      vaultReference({ azure_auth_mode: 'default', azure_vault_url: managers.url }, 'of-azure');

    it('at AWS are signed for by the role of the instance', async () => {
      process.env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] = managers.url;
      expect(await awsSecretsManager.fetch(serviceRole(), own)).to.equal('of aws');
    });

    it('at AWS are signed for by the service account of a pod', async () => {
      process.env['AWS_ROLE_ARN'] = accepted.roleArn;
      process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = tokenFile;
      expect(await awsSecretsManager.fetch(serviceRole(), own)).to.equal('of aws');
      expect(managers.logins.get('web identity')).to.equal(1);
      // Kubernetes replaces the token while the gateway runs.
      writeFileSync(tokenFile, 'canary-wrong');
      const failure = await failureOf(awsSecretsManager.fetch(serviceRole(), own));
      expect(failure).to.be.instanceOf(SecretFailure);
      expect(failure.message).to.include('no AWS identity').and.not.include('canary');
      writeFileSync(tokenFile, accepted.podToken);
      expect(await awsSecretsManager.fetch(serviceRole(), own)).to.equal('of aws');
    });

    it('at AWS are signed for by a role that the service account of a pod assumes', async () => {
      process.env['AWS_ROLE_ARN'] = accepted.roleArn;
      process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = tokenFile;
      const auth = { aws_auth_type: 'assumedRole', aws_role_arn: accepted.roleArn };
      const reference = vaultReference({ ...auth, aws_external_id: accepted.externalId }, 'of-aws');
      for (let i = 0; i < 3; i++) expect(await awsSecretsManager.fetch(reference, own)).to.equal('of aws');
      expect([managers.logins.get('web identity'), managers.logins.get('sts')]).to.deep.equal([1, 1]);
    });

    it('at AWS are not asked where the file with the token is not there', async () => {
      process.env['AWS_ROLE_ARN'] = accepted.roleArn;
      process.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = join(folder, 'absent');
      const failure = await failureOf(awsSecretsManager.fetch(serviceRole(), own));
      expect(failure.message).to.include('no AWS identity').and.not.include(folder);
    });

    it('at Azure are opened by the service account of a pod, once for as long as the token lasts', async () => {
      Object.assign(process.env, {
        AZURE_TENANT_ID: accepted.azureTenant,
        AZURE_CLIENT_ID: accepted.azureClient,
        AZURE_FEDERATED_TOKEN_FILE: tokenFile,
      });
      for (let i = 0; i < 3; i++) expect(await azureKeyVault.fetch(byDefault(), own)).to.equal('of azure');
      expect(managers.logins.get('entra')).to.equal(1);
      expect(managers.logins.get('managed')).to.equal(undefined);
    });

    it('at Azure are refused with the token of another pod, and where there is no file', async () => {
      Object.assign(process.env, {
        AZURE_TENANT_ID: accepted.azureTenant,
        AZURE_CLIENT_ID: accepted.azureClient,
        AZURE_FEDERATED_TOKEN_FILE: tokenFile,
      });
      writeFileSync(tokenFile, 'canary-wrong');
      const refused = await failureOf(azureKeyVault.fetch(byDefault(), own));
      expect(refused.message).to.include('status 401').and.not.include('canary');
      process.env['AZURE_FEDERATED_TOKEN_FILE'] = join(folder, 'absent');
      const absent = await failureOf(azureKeyVault.fetch(byDefault(), own));
      expect(absent.message).to.include('AZURE_FEDERATED_TOKEN_FILE').and.not.include(folder);
    });

    it('at Azure are opened by the client secret of the environment before the service account', async () => {
      Object.assign(process.env, {
        AZURE_TENANT_ID: accepted.azureTenant,
        AZURE_CLIENT_ID: accepted.azureClient,
        AZURE_CLIENT_SECRET: accepted.azureSecret,
        AZURE_FEDERATED_TOKEN_FILE: join(folder, 'absent'),
      });
      expect(await azureKeyVault.fetch(byDefault(), own)).to.equal('of azure');
    });
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
