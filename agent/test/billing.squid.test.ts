// What the Squid engine bills, by the table of every engine.
import { billingTable } from './billing.ts';
import { startSquidNode } from './squid_node.ts';

billingTable('the Squid engine', startSquidNode);
