import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { webhookUrlProblems } from '../../src/common/http/webhook-address.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { alertsPart } from '../../src/process/parts/alerts.js';

describe('the settings of the webhook of alerts', () => {
  it('take an http or https URL without a user, and quote nothing of another one', () => {
    for (const url of ['http://hooks', 'https://hooks.internal:8443/a/t0ken?x=1', 'HTTPS://hooks']) {
      expect(webhookUrlProblems(url), url).to.deep.equal([]);
    }
    for (const url of [
      '',
      'ftp://t0ken',
      't0ken',
      'http://',
      'https://t0ken:p@hooks/',
      'https://t0ken@hooks',
    ]) {
      expect(webhookUrlProblems(url), url).to.have.length(1);
      expect(webhookUrlProblems(url).join(), url).to.not.include('t0ken');
    }
  });

  it('go together: a URL without a secret, or a secret without a URL, is refused at the start', async () => {
    const secret = new Secret('x');
    for (const [alertWebhook, alertWebhookSecret] of [
      [secret, null],
      [null, secret],
    ]) {
      const given = { settings: { alertWebhook, alertWebhookSecret }, ledger: {} } as never;
      const refused = await Promise.resolve()
        .then(() => alertsPart.start(given))
        .catch((error: unknown) => error);
      expect(refused).to.be.an.instanceOf(RefusedStart);
      expect((refused as Error).message).to.match(/^alert_webhook and alert_webhook_secret go together/);
    }
  });
});
