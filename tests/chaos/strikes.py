"""Blows at the processes of a site, and rounds of them.

A site has `run`, `worker`, `start_run()`, `start_worker()`, `wait_for(amount)`
and `finish()`.
"""
import time

import harness


def strike(site, kind, others=None):
    """One blow, or two at once, and what a supervisor would do then.

    `others`: by kind, what else may be struck, as a call that does it.
    Returns whether it met a run that was not over.
    """
    if site.run.poll() is not None:
        return False
    if kind == "local worker":
        return harness.kill_local_worker(site.run)
    if others and kind in others:
        others[kind]()
        return True
    if kind in ("worker", "both"):
        harness.kill(site.worker)
    if kind in ("controller", "both", "local both"):
        harness.kill(site.run)  # With it goes a local worker.
    if kind in ("worker", "both"):
        site.start_worker()
    if kind in ("controller", "both", "local both"):
        site.start_run()
    return True


def play_round(site, rng, kind, total, others=None, counts=(1, 1, 2, 3)):
    """How many strikes came before the run had ended.

    `total` is all that arrives, as `wait_for` counts it; `counts`: how many
    strikes there may be.
    """
    moments = sorted(rng.uniform(0.02, 0.8) for _ in range(rng.choice(counts)))
    struck = 0
    for moment in moments:
        if site.run.poll() is None:
            site.wait_for(int(moment * total))
        # Anywhere between two commits, not only just behind one.
        time.sleep(rng.uniform(0, 0.03))
        # What was not committed counts for a later moment, too.
        if not strike(site, kind, others):
            break
        struck += 1
    site.finish()
    if struck == 0:
        raise harness.TooLate("the run ended before it could be struck")
    return struck
