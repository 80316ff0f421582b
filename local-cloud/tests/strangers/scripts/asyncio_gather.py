# asyncio: gathered tasks, a subprocess, to_thread, a signal handler on the loop.
# exit: 0
# log: gathered [0, 1, 2] and a child said hi
import asyncio
import signal


async def work(i):
    await asyncio.sleep(0.01 * i)
    return i


async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
    numbers = await asyncio.gather(*(work(i) for i in range(3)))
    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    await asyncio.to_thread(sum, [1, 2])
    print("gathered", numbers, "and a child said", out.decode().strip())


asyncio.run(main())
