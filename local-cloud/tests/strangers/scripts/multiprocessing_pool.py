# Pools by fork and by spawn, a Queue, a Manager and shared memory.
# exit: 0
# log: fork: [1, 2, 3]
# log: spawn: [1, 2, 3]
# log: manager {'answer': 42}
import multiprocessing as mp
from multiprocessing import shared_memory


def plus(n):
    return n + 1


def tell(q, shared):
    shared["answer"] = 42
    q.put("done")


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with mp.get_context(method).Pool(2) as pool:
            print(f"{method}:", pool.map(plus, range(3)))
    with mp.Manager() as manager:
        q, shared = mp.Queue(), manager.dict()
        p = mp.Process(target=tell, args=(q, shared))
        p.start()
        assert q.get(timeout=30) == "done"
        p.join()
        print("manager", dict(shared))
    memory = shared_memory.SharedMemory(create=True, size=1000)
    memory.close()
    memory.unlink()
