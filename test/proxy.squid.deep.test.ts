// A real browser through Squid.
import { browsingTests } from './system/browsing.ts';

browsingTests('squid');
