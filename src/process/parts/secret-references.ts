import { OwnIdentities, ownIdentityRefusal } from '../../common/access/own-identity.js';
import type { SecretManager } from '../../common/vocabulary/secret-managers.js';
import {
  EnvironmentSecrets,
  FileSecrets,
} from '../../control-plane/secret-references/managers/env-and-file.js';
import { MappedValues } from '../../control-plane/secret-references/mapped-values.js';
import { ownIdentityOf } from '../../control-plane/secret-references/own-identity.js';
import type { SecretSource } from '../../control-plane/secret-references/secret-source.js';
import { SecretValues, usualTimes } from '../../control-plane/secret-references/secret-values.js';
import { SecretAccesses } from '../../data-plane/providers/auth/secret-manager-access.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface SecretReferencesGiven {
  readonly secretValues: SecretValues;
  readonly mappedValues: MappedValues;
  readonly secretAccesses: SecretAccesses;
}

/** Values of secret references, for the records that data workers ask for. */
export const secretReferencesPart: ProcessPart<Base & WorkerProcesses, SecretReferencesGiven> = {
  name: 'secret references',
  start({ settings, workers, log }) {
    const times = usualTimes(settings.secretGraceS * 1000);
    const secretAccesses = new SecretAccesses(settings.egressAllow, times.fetchMs / 2);
    const sources: Readonly<Record<SecretManager, () => SecretSource | Promise<SecretSource>>> = {
      aws_sm: kept(async () => {
        const { awsSecretsManager } = await import(
          '../../control-plane/secret-references/managers/aws-secrets-manager.js'
        );
        return awsSecretsManager;
      }),
      azure_kv: kept(async () => {
        const { azureKeyVault } = await import(
          '../../control-plane/secret-references/managers/azure-key-vault.js'
        );
        return azureKeyVault;
      }),
      hashicorp_vault: kept(async () => {
        const { HashicorpVault } = await import(
          '../../control-plane/secret-references/managers/hashicorp-vault.js'
        );
        return new HashicorpVault();
      }),
      env: kept(async () => new EnvironmentSecrets(settings.secretEnv)),
      file: kept(async () => new FileSecrets(settings.secretDir)),
    };
    const secretValues = new SecretValues({
      async fetch(reference) {
        const source = await sources[reference.managerType]();
        return source.fetch(reference, await secretAccesses.of(reference.organisationId));
      },
      forget(what) {
        workers
          .forget(what)
          .catch((error) => log.error({ err: error }, 'secret references: workers did not forget'));
      },
      times,
      log,
    });
    workers.shared.on('credential-refused', ({ workspace, name }) =>
      secretValues.refused({ kind: 'provider', workspace, name }),
    );
    const identities = new OwnIdentities(settings.ownIdentity);
    const mappedValues = new MappedValues(secretValues, (reference) => {
      const cloud = ownIdentityOf(reference);
      const tenant = { organisationId: reference.organisationId, workspaceId: null };
      return cloud === null || identities.allow(cloud, tenant) ? null : ownIdentityRefusal(cloud);
    });
    return { secretValues, mappedValues, secretAccesses };
  },
  async stop({ secretValues, secretAccesses }) {
    secretValues.close();
    await secretAccesses.close();
  },
};

/** Made at its first use. */
function kept<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
