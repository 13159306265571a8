import { expect } from 'chai';
import { OwnIdentities, ownIdentityIn } from '../../src/common/access/own-identity.js';
import { loadSettings, SettingsError } from '../../src/common/settings/settings.js';

describe('The gateway’s own identity', () => {
  const tenant = { organisationId: 'o-1', workspaceId: 'w-1' };

  it('is used by no one unless the operator allows it', () => {
    const { ownIdentity } = loadSettings({ env: {}, file: null });
    expect(new OwnIdentities(ownIdentity).allow('aws', tenant)).to.equal(false);
  });

  it('is allowed at one cloud to all, to an organisation, or to a workspace', () => {
    const env = { HEADGATE_OWN_IDENTITY: 'aws, azure:o-1, google:w-1' };
    const own = new OwnIdentities(loadSettings({ env, file: null }).ownIdentity);
    const elsewhere = { organisationId: 'o-2', workspaceId: 'w-2' };
    const allowed = (who: typeof tenant) =>
      (['aws', 'azure', 'google'] as const).filter((cloud) => own.allow(cloud, who));
    expect(allowed(tenant)).to.deep.equal(['aws', 'azure', 'google']);
    expect(allowed(elsewhere)).to.deep.equal(['aws']);
    expect(own.allow('google', { organisationId: 'o-1', workspaceId: null })).to.equal(false);
    expect(own.allow('azure', { organisationId: 'o-1', workspaceId: null })).to.equal(true);
  });

  it('is refused for a cloud that there is not', () => {
    const env = { HEADGATE_OWN_IDENTITY: 'aws,gcp' };
    expect(() => loadSettings({ env, file: null })).to.throw(
      SettingsError,
      'HEADGATE_OWN_IDENTITY[1]: must be aws, azure, google or kubernetes',
    );
  });

  it('is what a credential of a mode, or of a role without keys, asks for', () => {
    const cloudOf = (fields: Record<string, unknown>) => ownIdentityIn(fields)?.cloud ?? null;
    expect(cloudOf({ azure_auth_mode: 'managed' })).to.equal('azure');
    expect(cloudOf({ azure_auth_mode: 'workload' })).to.equal('azure');
    expect(cloudOf({ azure_auth_mode: 'entra' })).to.equal(null);
    expect(cloudOf({ vertex_auth_type: 'workloadIdentity' })).to.equal('google');
    expect(cloudOf({ vertex_auth_type: 'serviceAccount' })).to.equal(null);
    expect(cloudOf({ aws_role_arn: 'arn' })).to.equal('aws');
    expect(cloudOf({ aws_role_arn: 'arn', aws_access_key_id: 'AKIA' })).to.equal(null);
  });
});
