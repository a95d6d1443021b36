/* Hides instructions of the processor from a process that loads this: Linux on x86-64.

   A library that chooses among versions of its code asks the processor what it has, by CPUID. The
   kernel can have that instruction fault instead (arch_prctl, ARCH_SET_CPUID); the handler here
   answers it without the bits that are to be hidden. What was asked before stays as it was. */

#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define MOST 16
#define ANY 0xffffffffu /* of a leaf without subleaves, whatever ecx holds */

/* Bits of register number `place` (eax, ebx, ecx, edx) of the answer to a leaf and subleaf. */
struct hidden { unsigned leaf, subleaf, place, bits; };

static struct hidden all[MOST];
static unsigned known;
static atomic_uint answered;

static long faulting(unsigned long off) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, off); }

static void answer(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *instruction = (const unsigned char *)registers[REG_RIP];
    (void)info;
    if (instruction[0] != 0x0f || instruction[1] != 0xa2) { /* a real fault */
        signal(number, SIG_DFL); /* it happens again, and ends the process */
        return;
    }
    unsigned leaf = registers[REG_RAX], subleaf = registers[REG_RCX], told[4], removed = 0;
    faulting(1);
    __cpuid_count(leaf, subleaf, told[0], told[1], told[2], told[3]);
    faulting(0);
    for (unsigned i = 0; i < known; ++i)
        if (all[i].leaf == leaf && (all[i].subleaf == subleaf || all[i].subleaf == ANY)) {
            removed |= told[all[i].place] & all[i].bits;
            told[all[i].place] &= ~all[i].bits;
        }
    if (removed)
        atomic_fetch_add(&answered, 1);
    registers[REG_RAX] = told[0];
    registers[REG_RBX] = told[1];
    registers[REG_RCX] = told[2];
    registers[REG_RDX] = told[3];
    registers[REG_RIP] += 2;
}

/* Hides them from this thread, and from those that it starts. 0; -1 where that cannot be, -2 for
   too many. */
int hide(const struct hidden *wanted, unsigned count)
{
    struct sigaction action;
    if (count > MOST)
        return -2;
    memcpy(all, wanted, count * sizeof *wanted);
    known = count;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGSEGV, &action, 0) == 0 && faulting(0) == 0 ? 0 : -1;
}

/* How many answers lacked something that the processor has. */
unsigned times_hidden(void) { return atomic_load(&answered); }
