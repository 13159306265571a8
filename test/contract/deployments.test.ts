import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { noAccess } from '../../src/control-plane/administration/access/deployment-access.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import type { Deployment, DeploymentStore, Store } from '../../src/control-plane/store/store.js';
import { DeploymentReports } from '../../src/process/node/deployment-reports.js';
import { eventually } from '../support/gateway.js';
import { folder, forEachStore } from '../support/stores.js';

const secret = new Secret(`hgd_${'a'.repeat(43)}`);

describe('a gateway of a deployment', function () {
  this.timeout(20_000);

  forEachStore(({ open }) => {
    let dataDir: string;
    let store: Store;
    let organisation: string;
    let deployment: Deployment;
    const logged: string[] = [];
    const log = { info() {}, warn() {}, error: (_: object, message: string) => void logged.push(message) };

    beforeEach(async () => {
      dataDir = folder();
      store = await open(dataDir);
      organisation = (await bootstrap(store, { dataDir, simulated: false }))!.organisation_id;
      logged.length = 0;
      deployment = (await store.deployments.create(organisation, {
        ...{
          name: 'Europe',
          type: 'production',
          config: null,
          access: noAccess,
          tags: null,
          isDefault: false,
        },
        ...{ login: null, authHash: store.hashKey(secret.reveal()) },
      })) as Deployment;
    });
    afterEach(() => store.close());

    const begin = (more: object = {}): Promise<DeploymentReports> =>
      DeploymentReports.begin({ store, dataDir, secret, log, everyMs: 20, ...more });

    it('reports, which leaves the record as it is, until its secret is no longer valid', async () => {
      const reports = await begin();
      expect(reports.id).to.equal(deployment.id);
      const seen = await eventually('seen', async () => {
        const found = await store.deployments.get(organisation, deployment.id);
        return found!.lastSeenAt !== null && found;
      });
      expect({ ...seen, lastSeenAt: null }).to.deep.equal({ ...deployment, lastSeenAt: null });
      await store.deployments.update(organisation, deployment.id, { authHash: store.hashKey('another') });
      await eventually('the word about it', async () => logged.length > 0);
      expect(logged[0]).to.match(/secret of this deployment is no longer valid/);
      reports.stop();
    });

    it('does not start with a secret of no active deployment', async () => {
      await store.deployments.update(organisation, deployment.id, { status: 'archived' });
      const error = await begin().then(
        () => expect.fail('must be refused'),
        (refused: Error) => refused,
      );
      expect(error).to.be.instanceOf(RefusedStart);
      expect(error.message)
        .to.match(/^HEADGATE_DEPLOYMENT_SECRET is .+\.$/)
        .and.not.include('aaaa');
    });

    it('starts as what it was while the store is away', async () => {
      (await begin()).stop();
      const away = async (): Promise<never> => {
        throw new GatewayError('store_unavailable', 'away');
      };
      const deployments = { bySecret: away, seen: away } as unknown as DeploymentStore;
      const hashKey = (text: string): string => store.hashKey(text);
      const again = await begin({ store: { deployments, hashKey } });
      expect(again.id).to.equal(deployment.id);
      again.stop();
      const other = new Secret(`hgd_${'b'.repeat(43)}`);
      expect(
        await begin({ store: { deployments, hashKey }, secret: other }).catch((error) => error.code),
      ).to.equal('store_unavailable');
    });

    it('serves whom its record lets in', async () => {
      const rules = () => store.deployments.rules(deployment.id);
      const change = (access: object) =>
        store.deployments.update(organisation, deployment.id, { access: { ...noAccess, ...access } });
      expect(await rules()).to.deep.equal({
        organisationId: organisation,
        disabled: false,
        workspaces: null,
      });
      await change({ workspacesAllowed: ['w'], disableGateway: 'true' });
      expect(await rules()).to.deep.include({ disabled: true, workspaces: ['w'] });
      await change({ disableGateway: 'false' });
      expect(await rules()).to.deep.include({ disabled: false });
      await store.deployments.update(organisation, deployment.id, { status: 'archived' });
      expect(await rules()).to.deep.include({ disabled: true });
      expect(await store.deployments.rules('none')).to.equal(null);
    });
  });
});
